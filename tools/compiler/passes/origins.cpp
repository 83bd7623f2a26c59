// SPDX-License-Identifier: MIT
#include "compiler/passes/origins.hpp"

#include <algorithm>

namespace overtake::compiler {

Origins::Origins(const Graph& before_folding) : writers_(before_folding.values.size()) {
    for (const Node& node : before_folding.nodes)
        writers_[node.output] = Writer{node.name, node.inputs};
}

std::set<std::string> Origins::of(const Node& folded) const {
    std::set<std::string> names;
    std::set<ValueId> seen(folded.inputs.begin(), folded.inputs.end());
    std::vector<ValueId> left = {folded.output};
    while (!left.empty()) {
        const ValueId value = left.back();
        left.pop_back();
        if (value >= writers_.size() || !writers_[value] || !seen.insert(value).second)
            continue;
        names.insert(writers_[value]->name);
        std::ranges::copy(writers_[value]->inputs, std::back_inserter(left));
    }
    return names;
}

const std::string& recurrence_of(const Graph& graph, const std::string& name) {
    const auto part = graph.parts_of_recurrences.find(name);
    return part == graph.parts_of_recurrences.end() ? name : part->second;
}

} // namespace overtake::compiler
