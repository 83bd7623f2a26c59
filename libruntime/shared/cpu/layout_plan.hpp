// SPDX-License-Identifier: MIT
//
// Which layout each value of a graph has, so that its nodes and the conversions between them take
// least time.  Pure: what nodes and conversions cost is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace overtake::cpu {

/// A layout, by number; at most 8 of them.  A set of them has a bit for each.
using LayoutNumber = std::uint8_t;
using LayoutSet = std::uint8_t;

/// One way to compute a node: the layout that it reads each of its inputs in, and that it writes.
struct NodeForm {
    std::vector<LayoutNumber> inputs;
    LayoutNumber output = 0;
    double ns = 0;

    bool operator==(const NodeForm&) const = default;
};

struct LayoutProblem {
    struct Node {
        std::vector<std::uint32_t> inputs; ///< values; those that nodes make, made by earlier ones
        std::uint32_t output = 0;          ///< a value that no other node makes
        std::vector<NodeForm> forms;       ///< at least one
    };
    struct Value {
        LayoutSet given = 0;  ///< in these it is there before the first node
        LayoutSet wanted = 0; ///< in these it has to be there behind the last one
    };

    std::vector<Node> nodes; ///< in the order in which they run
    std::vector<Value> values;
    /// Nanoseconds of a conversion of a value; infinite where there is none.
    std::function<double(std::uint32_t value, LayoutNumber from, LayoutNumber to)> conversion;
};

struct LayoutPlan {
    /// In front of node `before`, which may be one behind the last.
    struct Conversion {
        std::size_t before;
        std::uint32_t value;
        LayoutNumber from, to;
    };

    std::vector<std::uint32_t> forms; ///< by node: which of its forms
    std::vector<Conversion> conversions;
    double ns = 0;        ///< of nodes and conversions
    bool is_best = false; ///< no plan with direct conversions takes less; else of those looked at
};

/// By dynamic programming in the order of the nodes.  A state is which layouts each value that is
/// still needed has; a value is converted once to each layout that is asked of it.  Where there
/// are more states than `most_states`, or than 32,768 by the values still needed, those that took
/// least so far go on.  Takes time in proportion to nodes and most_states.
LayoutPlan plan_layouts(const LayoutProblem& problem, std::size_t most_states = 256);

/// The problem with just those forms of each node that have `layout` most often.
LayoutProblem preferring(LayoutProblem problem, LayoutNumber layout);

} // namespace overtake::cpu
