// SPDX-License-Identifier: MIT
#pragma once

#include "graph.hpp"
#include "program.hpp"

namespace overtake::compiler {

/// Gives every value of the BPU segment its place: those that cross its border get regions of their
/// own, the others share the scratch region in turns.  What a slice or a concat can see or show
/// where it lies is not moved: its place is a part of another value's.  Fills `places`, `io` and
/// `scratch_bytes` of the program; throws CompileError for what exceeds the device.
void place(const Graph& graph, Program& program);

} // namespace overtake::compiler
