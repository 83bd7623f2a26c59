// SPDX-License-Identifier: MIT
//
// Chooses the layout of each value of a graph so that its nodes and the conversions between them
// take the least time.  Pure: the costs of nodes and conversions are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace overtake::cpu {

/// A layout, by number; at most 8.  A set of layouts has a bit for each.
using LayoutNumber = std::uint8_t;
using LayoutSet = std::uint8_t;

/// One way to compute a node: the layouts of its inputs and of its output.
struct NodeForm {
    std::vector<LayoutNumber> inputs;
    LayoutNumber output = 0;
    double ns = 0;

    bool operator==(const NodeForm&) const = default;
};

struct LayoutProblem {
    struct Node {
        std::vector<std::uint32_t> inputs; ///< values: given ones, or outputs of earlier nodes
        std::uint32_t output = 0;          ///< a value that no other node makes
        std::vector<NodeForm> forms;       ///< at least one
    };
    struct Value {
        LayoutSet given = 0;  ///< the layouts in which it exists before the first node
        LayoutSet wanted = 0; ///< the layouts in which it must exist after the last node
    };

    std::vector<Node> nodes; ///< in the order in which they run
    std::vector<Value> values;
    /// Returns the nanoseconds of a conversion of a value; infinite if there is none.
    std::function<double(std::uint32_t value, LayoutNumber from, LayoutNumber to)> conversion;
};

struct LayoutPlan {
    /// A conversion before node `before`, which may be one after the last.
    struct Conversion {
        std::size_t before;
        std::uint32_t value;
        LayoutNumber from, to;
    };

    std::vector<std::uint32_t> forms; ///< by node: the number of its form
    std::vector<Conversion> conversions;
    double ns = 0;        ///< of nodes and conversions
    bool is_best = false; ///< no plan with direct conversions takes less time; else unknown
};

/// Plans by dynamic programming in the order of the nodes.  A state is the set of layouts of each
/// value that is still needed; a value is converted once to each layout that a node needs.  If
/// there are more states than `most_states`, or than 32,768 divided by the number of values still
/// needed, only those with the least time so far go on.  Takes time in proportion to nodes and
/// most_states.
LayoutPlan plan_layouts(const LayoutProblem& problem, std::size_t most_states = 256);

/// Returns the problem with only those forms of each node that have `layout` most often.
LayoutProblem preferring(LayoutProblem problem, LayoutNumber layout);

} // namespace overtake::cpu
