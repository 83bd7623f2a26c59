// SPDX-License-Identifier: MIT
#include "compiler/import/wishes.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace overtake::compiler {
namespace {

bool is_named(const onnx::NodeProto& node, const std::string& name) {
    return node.name() == name || (node.output_size() > 0 && node.output(0) == name);
}

const std::string& name_of(const onnx::NodeProto& node) {
    return node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
}

constexpr std::string_view is_part_of_others =
    "it is computed as a part of other nodes, or before the network runs";

// Returns the verdicts of nodes that are written as others: on the CPU if a part is.
std::vector<NodeVerdict> verdicts_of_wholes(const Graph& graph,
                                            const std::vector<NodeVerdict>& verdicts) {
    using Where = NodeVerdict::Where;
    std::map<std::pair<std::string, std::string>, NodeVerdict> wholes;
    for (const NodeVerdict& part : verdicts)
        for (const Whole& whole : wholes_of(graph, part.name)) {
            NodeVerdict& verdict =
                wholes
                    .try_emplace({whole.name, whole.kind},
                                 NodeVerdict{whole.name, whole.kind, Where::nowhere, ""})
                    .first->second;
            if (part.where == Where::cpu && verdict.where != Where::cpu) {
                verdict.where = Where::cpu;
                verdict.reason = part.reason;
            } else if (part.where == Where::bpu && verdict.where == Where::nowhere) {
                verdict.where = Where::bpu;
            }
        }
    std::vector<NodeVerdict> result;
    for (auto& whole : wholes)
        result.push_back(std::move(whole.second));
    return result;
}

// Returns the name of the node that has this name or whose first output has it; else the name
// itself.
std::string node_called(const std::string& name, const onnx::GraphProto& graph) {
    const auto& nodes = graph.node();
    auto found = std::ranges::find(nodes, name, [](const auto& node) { return node.name(); });
    if (found == nodes.end())
        found = std::ranges::find_if(nodes, [&](const auto& node) { return is_named(node, name); });
    return found == nodes.end() ? name : name_of(*found);
}

bool is_of_kind(const NodeWish& wish) {
    return wish.name.empty();
}

// Returns the unfulfilled part of a wish for one node, in words; empty: the wish is fulfilled.
std::string shortfall(const NodeWish& wish, const NodeVerdict& verdict) {
    using Where = NodeVerdict::Where;
    const std::string why = verdict.reason.empty() ? "" : ": " + verdict.reason;
    if (verdict.where == Where::bpu && wish.on == NodeWish::On::cpu)
        return "it runs on the BPU in int8, as it has no form on the CPU";
    if (verdict.where == Where::bpu && wish.width == "float32")
        return "it runs on the BPU in int8; run_on_cpu computes it in float32";
    if (verdict.where == Where::cpu && wish.on == NodeWish::On::bpu)
        return "it runs on the CPU in float32" + why;
    if (verdict.where == Where::cpu && wish.width == "int8")
        return "it runs on the CPU in float32" + why;
    return "";
}

// Returns the unfulfilled part of a wish for a kind, in words.  The device can have 16 bits, and
// the CPU has more.
std::string shortfall_of_kind(const NodeWish& wish, const FileNodes& file,
                              const std::vector<NodeVerdict>& verdicts) {
    if (!wish.kind.empty() && std::ranges::count(verdicts, wish.kind, &NodeVerdict::type) == 0)
        return file.kinds.contains(wish.kind) ? std::string(is_part_of_others)
                                              : "the network has no " + wish.kind + " node";
    if (wish.width == "int16")
        return "";
    std::size_t on_bpu = 0, on_cpu = 0;
    for (const NodeVerdict& verdict : verdicts) {
        if (!wish.kind.empty() && verdict.type != wish.kind)
            continue;
        on_bpu += verdict.where == NodeVerdict::Where::bpu;
        on_cpu += verdict.where == NodeVerdict::Where::cpu;
    }
    const bool wants_int8 = wish.width == "int8";
    if ((wants_int8 ? on_cpu : on_bpu) == 0)
        return "";
    const std::string kind = wish.kind.empty() ? "" : wish.kind + " ";
    return fmt::format(
        "of its {}nodes, {} run on the BPU in int8 and {} on the CPU in float32{}", kind, on_bpu,
        on_cpu, wants_int8 ? "" : "; run_on_cpu computes the nodes that it names in float32");
}

} // namespace

ImportOptions with_wishes(const ImportOptions& options, const onnx::GraphProto& graph) {
    ImportOptions result = options;
    for (std::vector<std::string>* names : {&result.run_on_cpu, &result.run_on_bpu})
        for (std::string& name : *names)
            name = node_called(name, graph);
    for (const NodeWish& wish : options.wishes)
        for (const onnx::NodeProto& node : graph.node()) {
            if (is_of_kind(wish) || wish.on == NodeWish::On::any || !is_named(node, wish.name))
                continue;
            if (wish.on == NodeWish::On::cpu)
                result.run_on_cpu.push_back(name_of(node));
            else if (wish.must)
                result.run_on_bpu.push_back(name_of(node));
            else
                result.stay_on_bpu.insert(name_of(node));
        }
    return result;
}

void report_wishes(const ImportOptions& options, const FileNodes& file,
                   const onnx::GraphProto& graph, const Graph& imported,
                   const std::vector<NodeVerdict>& verdicts) {
    if (!options.warn)
        return;
    const std::vector<NodeVerdict> wholes = verdicts_of_wholes(imported, verdicts);
    std::vector<NodeVerdict> all = verdicts;
    all.insert(all.end(), wholes.begin(), wholes.end());
    for (const NodeWish& wish : options.wishes) {
        std::optional<std::string> text;
        if (is_of_kind(wish))
            text = shortfall_of_kind(wish, file, all);
        for (std::size_t number = 0; number < verdicts.size() && !is_of_kind(wish); ++number)
            if (is_named(graph.node(static_cast<int>(number)), wish.name))
                text = shortfall(wish, verdicts[number]);
        for (const NodeVerdict& whole : wholes)
            if (!is_of_kind(wish) && whole.name == wish.name)
                text = shortfall(wish, whole);
        if (!text)
            text =
                file.names.contains(wish.name) ? is_part_of_others : "the network has no such node";
        if (!text->empty())
            options.warn(wish.place + ": " + *text);
    }
}

} // namespace overtake::compiler
