// SPDX-License-Identifier: MIT
//
// Divides operators into units: parts of a network that the same classes of processors support, and
// that no path leaves and enters again.
//
// The partition knows of an operator only the classes that support it and the operators that it
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace overtake::compiler {

/// Operators as the partition sees them, numbered in an order in which they can run.
struct OperatorGraph {
    std::vector<std::uint64_t> support;                 ///< bit k: class k; never 0
    std::vector<std::vector<std::size_t>> predecessors; ///< of each operator, lower ones
};

struct PartitionOptions {
    std::uint64_t accelerators = 0;  ///< bit k: class k loses fronts that are too small for it
    std::size_t least_operators = 7; ///< of a front that an accelerator keeps
    std::size_t most_units = 64;
};

struct OperatorGroup {
    std::uint64_t support = 0;          ///< of each of its operators; of a joined unit, in common
    std::vector<std::size_t> operators; ///< ascending
};

struct Partition {
    std::vector<OperatorGroup> units; ///< in an order in which they can run
    std::size_t fronts = 0;           ///< number of units before some were joined
    std::uint64_t steps = 0;          ///< taken: operators, edges and units looked at
};

/// First grows, for each accelerator class, fronts of operators that are ready: all operators of a
/// front are supported by the class, or none.  The class loses a supported front of fewer than
/// `least_operators`, unless it is the whole network or no other class supports an operator of it.
/// Then fronts of operators that are ready and equally supported are the units.  If they are more
/// than `most_units`, neighbours in their order are joined, the smallest first, as long as they
/// have a class in common.  The result may have more than `most_units` where none have.
Partition partition(const OperatorGraph& graph, const PartitionOptions& options);

/// Whether each operator is in one unit, and each unit reads only itself and units before it: then
/// no path leaves a unit and enters it again.
bool is_sound(const OperatorGraph& graph, const std::vector<OperatorGroup>& units);

} // namespace overtake::compiler
