// SPDX-License-Identifier: MIT
#include "compiler/import/survey.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "compiler/import/nodes.hpp"

namespace overtake::compiler {

namespace {

constexpr std::size_t most_named = 3;  // nodes of one kind that a message names
constexpr std::size_t most_kinds = 20; // kinds that a message names

bool is_integer_type(int type) {
    return type != onnx::TensorProto::FLOAT && type != onnx::TensorProto::DOUBLE;
}

// Refusals with the same operator and reason.
struct RefusalKind {
    std::string type, reason;
    std::vector<std::string> names;
};

std::vector<RefusalKind> kinds_of_refusals(const std::vector<NodeVerdict>& nodes) {
    std::vector<RefusalKind> kinds;
    std::map<std::pair<std::string, std::string>, std::size_t> places;
    for (const NodeVerdict& node : nodes) {
        if (node.where != NodeVerdict::Where::refused)
            continue;
        const auto [place, is_new] =
            places.emplace(std::pair(node.type, node.reason), kinds.size());
        if (is_new)
            kinds.push_back({node.type, node.reason, {}});
        kinds[place->second].names.push_back(node.name);
    }
    return kinds;
}

} // namespace

std::string reason_in(const Context& context, const std::string& message) {
    const std::string prefix =
        context.path + ": node '" + node_name(context) + "' (" + context.node->op_type() + "): ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

bool waits_for_refused(const Context& context) {
    return std::ranges::any_of(context.node->input(), [&](const std::string& name) {
        return context.unknown.contains(name);
    });
}

void stand_in(Context& context) {
    bool is_variable = context.node->input_size() == 0;
    for (const std::string& input : context.node->input())
        is_variable = is_variable || (!input.empty() && !context.constants.contains(input));
    for (const std::string& output : context.node->output()) {
        context.constants.erase(output);
        context.references.erase(output);
        const auto shape = context.shapes.find(output);
        const auto type = context.types.find(output);
        const bool is_known = is_variable && shape != context.shapes.end() && !refusal_of([&] {
                                  const ValueId value =
                                      add_host_value(context, output, shape->second);
                                  context.references[output] = {value, shape->second,
                                                                type != context.types.end() &&
                                                                    is_integer_type(type->second)};
                              });
        if (!is_known && !output.empty())
            context.unknown.insert(output);
    }
}

std::string text_of_refusals(const std::vector<NodeVerdict>& nodes) {
    const std::vector<RefusalKind> kinds = kinds_of_refusals(nodes);
    std::size_t count = 0, told = 0;
    std::string text;
    for (const RefusalKind& kind : kinds)
        count += kind.names.size();
    for (const RefusalKind& kind : std::span(kinds).first(std::min(kinds.size(), most_kinds))) {
        told += kind.names.size();
        std::string names;
        for (std::size_t index = 0; index < std::min(kind.names.size(), most_named); ++index)
            names += (index == 0 ? "'" : ", '") + kind.names[index] + "'";
        text += fmt::format("{}{} {} ({}{}): {}", text.empty() ? "" : "; ", kind.names.size(),
                            kind.type, names, kind.names.size() > most_named ? ", ..." : "",
                            kind.reason);
    }
    if (count == 1)
        return fmt::format("node '{}' ({}): {}", kinds[0].names[0], kinds[0].type, kinds[0].reason);
    if (kinds.size() > most_kinds)
        text += fmt::format("; and {} more reason{} for {} node{}", kinds.size() - most_kinds,
                            kinds.size() - most_kinds == 1 ? "" : "s", count - told,
                            count - told == 1 ? "" : "s");
    return fmt::format("{} of {} nodes are refused: {}", count, nodes.size(), text);
}

} // namespace overtake::compiler
