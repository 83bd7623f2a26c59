// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/partition.hpp"

namespace overtake::compiler {

/// The places where masks are added to numbers from which a node or program chooses afterwards:
/// Softmax, ArgMax, a program that reads an output.  A mask moves hidden elements towards minus
/// infinity.
/// In 8 bits it would share one range with the numbers, and leave no steps for them.
struct Masks {
    /// Nodes of the file, by number, that the device could run and that have to run on the CPU:
    /// they make a mask, add it, or are between the sum and the node that chooses.  Softmax runs
    /// there anyway.
    std::set<int> nodes;
    /// Masks, and tensors that have been masked.
    std::set<std::string> tensors;
};

/// Called when all nodes have been imported once, to `placements`.
Masks find_masks(const Context& context, const std::vector<Placement>& placements);

/// If the device reads such a tensor as well, gives it a copy in 8 bits, so that the CPU reads the
/// numbers that the CPU has written.  Called when the graph is complete.
void keep_exact(Context& context, const std::set<std::string>& tensors);

} // namespace overtake::compiler
