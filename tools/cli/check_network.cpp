// SPDX-License-Identifier: MIT
#include "check_network.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "json_text.hpp"
#include "printable.hpp"

namespace overtake::command {
namespace {

using compiler::NodeVerdict;
using Where = NodeVerdict::Where;

constexpr std::size_t most_named = 3; // nodes that are named for one reason

// The nodes of one operator, and reasons with the names of the nodes for which they are given.
struct OperatorVerdict {
    std::map<Where, std::size_t> count;
    std::map<std::string, std::vector<std::string>> refusals, reasons_for_cpu;

    std::size_t nodes() const {
        std::size_t sum = 0;
        for (const auto& [where, number] : count)
            sum += number;
        return sum;
    }
    std::size_t at(Where where) const {
        const auto found = count.find(where);
        return found == count.end() ? 0 : found->second;
    }
};

using Verdicts = std::map<std::string, OperatorVerdict>;

Verdicts by_operator(const std::vector<NodeVerdict>& nodes) {
    Verdicts verdicts;
    for (const NodeVerdict& node : nodes) {
        OperatorVerdict& verdict = verdicts[node.type];
        ++verdict.count[node.where];
        if (node.where == Where::refused)
            verdict.refusals[node.reason].push_back(node.name);
        else if (node.where == Where::cpu && !node.reason.empty())
            verdict.reasons_for_cpu[node.reason].push_back(node.name);
    }
    return verdicts;
}

nlohmann::ordered_json to_json(const std::map<std::string, std::vector<std::string>>& reasons) {
    auto json = nlohmann::ordered_json::array();
    for (const auto& [reason, names] : reasons)
        json.push_back({{"reason", reason}, {"nodes", names}});
    return json;
}

void print_as_json(const std::string& model, bool compiles, const std::string& refusal,
                   const Verdicts& verdicts) {
    auto operators = nlohmann::ordered_json::array();
    for (const auto& [type, verdict] : verdicts)
        operators.push_back({{"operator", type},
                             {"nodes", verdict.nodes()},
                             {"bpu", verdict.at(Where::bpu)},
                             {"cpu", verdict.at(Where::cpu)},
                             {"no_work", verdict.at(Where::nowhere)},
                             {"refused", verdict.at(Where::refused)},
                             {"not_looked_at", verdict.at(Where::unknown)},
                             {"refusals", to_json(verdict.refusals)},
                             {"reasons_for_cpu", to_json(verdict.reasons_for_cpu)}});
    const nlohmann::ordered_json json = {
        {"model", model},
        {"compiles", compiles},
        {"refusal", refusal.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(refusal)},
        {"operators", operators}};
    fmt::print("{}\n", text_of(json));
}

std::string named(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t index = 0; index < std::min(names.size(), most_named); ++index)
        text += fmt::format("{}'{}'", index == 0 ? "" : ", ", names[index]);
    if (names.size() > most_named)
        text += fmt::format(" and {} more", names.size() - most_named);
    return text;
}

std::string or_dash(std::size_t count) {
    return count == 0 ? "-" : std::to_string(count);
}

void print_as_text(const std::string& model, bool compiles, const std::string& refusal,
                   const Verdicts& verdicts) {
    std::string text;
    const auto out = std::back_inserter(text);
    std::size_t all = 0, refused = 0, unknown = 0;
    for (const auto& [type, verdict] : verdicts) {
        all += verdict.nodes();
        refused += verdict.at(Where::refused);
        unknown += verdict.at(Where::unknown);
    }
    if (!verdicts.empty())
        fmt::format_to(out, "{:<24} {:>6} {:>6} {:>6} {:>8} {:>8}\n", "operator", "nodes", "BPU",
                       "CPU", "no work", "refused");
    for (const auto& [type, verdict] : verdicts)
        fmt::format_to(out, "{:<24} {:>6} {:>6} {:>6} {:>8} {:>8}\n", type, verdict.nodes(),
                       or_dash(verdict.at(Where::bpu)), or_dash(verdict.at(Where::cpu)),
                       or_dash(verdict.at(Where::nowhere)), or_dash(verdict.at(Where::refused)));
    for (const auto& [type, verdict] : verdicts)
        for (const auto& [reason, names] : verdict.reasons_for_cpu)
            fmt::format_to(out, "on the CPU: {} {} ({}): {}\n", names.size(), type, named(names),
                           reason);
    for (const auto& [type, verdict] : verdicts)
        for (const auto& [reason, names] : verdict.refusals)
            fmt::format_to(out, "refused: {} {} ({}): {}\n", names.size(), type, named(names),
                           reason);
    if (unknown > 0)
        fmt::format_to(out, "not looked at: {} node{} behind refused ones\n", unknown,
                       unknown == 1 ? "" : "s");
    if (compiles)
        fmt::format_to(out, "{}: compiles\n", model);
    else if (!refusal.empty())
        fmt::format_to(out, "{}: does not compile: {}\n", model, refusal);
    else
        fmt::format_to(out, "{}: does not compile: {} of {} nodes are refused\n", model, refused,
                       all);
    // The network's author chose the names, which may have control characters.
    fmt::print("{}", printable(text, true));
}

} // namespace

int check_network(const compiler::CompileOptions& options, bool prints_json) {
    const compiler::Survey survey = compiler::check(options);
    const Verdicts verdicts = by_operator(survey.nodes);
    const bool compiles =
        survey.refusal.empty() && std::ranges::none_of(survey.nodes, [](const NodeVerdict& node) {
            return node.where == Where::refused;
        });
    if (prints_json)
        print_as_json(options.model, compiles, survey.refusal, verdicts);
    else
        print_as_text(options.model, compiles, survey.refusal, verdicts);
    return compiles ? 0 : 1;
}

} // namespace overtake::command
