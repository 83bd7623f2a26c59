// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/ir/graph.hpp"

namespace overtake::host_profile {

/// A network whose layers have the kinds and shapes of real ones, several of each.  Its weights are
/// seeded and bell-shaped, as trained ones are.  It computes nothing of use.
compiler::Graph layers_of_every_kind();

/// Average pools of several sizes, most of them over all rows and columns.  Only these are priced
/// by arithmetic, and the network above has few of them.
compiler::Graph pools_of_all_of_a_tensor();

/// `length` activations of 64 bytes, one after the other: next to no work.
compiler::Graph tiny_instructions(std::size_t length);

} // namespace overtake::host_profile
