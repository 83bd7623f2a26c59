// SPDX-License-Identifier: MIT
#include "compiler/passes/order_segments.hpp"

#include <algorithm>

namespace overtake::compiler {
namespace {

// The nodes in the order in which two processors in turns run them.
struct Schedule {
    std::vector<std::size_t> order;
    std::size_t turns = 0;
};

Schedule schedule(const Graph& graph, bool bpu_begins) {
    std::vector<bool> ready(graph.values.size(), true), done(graph.nodes.size(), false);
    for (const Node& node : graph.nodes)
        ready[node.output] = false;
    Schedule result;
    for (bool on_bpu = bpu_begins; result.order.size() < graph.nodes.size(); on_bpu = !on_bpu) {
        const std::size_t before = result.order.size();
        // The nodes are in topological order, so one pass finds all that can run.
        for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
            const Node& node = graph.nodes[index];
            if (done[index] || node.on_bpu() != on_bpu ||
                !std::ranges::all_of(node.inputs, [&](ValueId input) { return ready[input]; }))
                continue;
            done[index] = ready[node.output] = true;
            result.order.push_back(index);
        }
        result.turns += result.order.size() > before;
    }
    return result;
}

} // namespace

void order_segments(Graph& graph) {
    const Schedule with_bpu = schedule(graph, true), with_cpu = schedule(graph, false);
    const Schedule& chosen = with_cpu.turns < with_bpu.turns ? with_cpu : with_bpu;
    std::vector<Node> nodes;
    for (std::size_t index : chosen.order)
        nodes.push_back(std::move(graph.nodes[index]));
    graph.nodes = std::move(nodes);
}

std::vector<NodeRange> segments_of(const Graph& graph) {
    std::vector<NodeRange> ranges;
    for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
        const bool on_bpu = graph.nodes[index].on_bpu();
        if (ranges.empty() || ranges.back().on_bpu != on_bpu)
            ranges.push_back({on_bpu, index, 0});
        ++ranges.back().count;
    }
    return ranges;
}

} // namespace overtake::compiler
