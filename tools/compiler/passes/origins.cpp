// SPDX-License-Identifier: MIT
#include "compiler/passes/origins.hpp"

#include <algorithm>

namespace overtake::compiler {

Origins::Origins(const Graph& before_folding) : writers_(before_folding.values.size()) {
    for (const Node& node : before_folding.nodes)
        writers_[node.output] = Writer{node.name, node.onnx_type, node.inputs};
}

std::vector<Origin> Origins::of(const Node& folded) const {
    std::vector<Origin> nodes;
    std::set<ValueId> seen(folded.inputs.begin(), folded.inputs.end());
    std::vector<ValueId> left = {folded.output};
    while (!left.empty()) {
        const ValueId value = left.back();
        left.pop_back();
        if (value >= writers_.size() || !writers_[value] || !seen.insert(value).second)
            continue;
        nodes.push_back({writers_[value]->name, writers_[value]->kind});
        std::ranges::copy(writers_[value]->inputs, std::back_inserter(left));
    }
    return nodes;
}

const std::string& recurrence_of(const Graph& graph, const std::string& name) {
    const auto [first, last] = graph.wholes.equal_range(name);
    const auto whole =
        std::find_if(first, last, [](const auto& each) { return each.second.is_recurrence; });
    return whole == last ? name : whole->second.name;
}

} // namespace overtake::compiler
