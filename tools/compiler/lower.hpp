// SPDX-License-Identifier: MIT
#pragma once

#include "program.hpp"
#include "quantise.hpp"

namespace overtake::compiler {

/// Turns every node but softmax into one instruction, with inputs, outputs and what the CPU reads
/// in regions of their own and everything else in scratch.  Leaves Program::fcs empty.
/// Throws CompileError where the device's limits are exceeded.
Program lower(const Graph& graph, const QuantisedGraph& quantised);

/// Checks every step with the device's own decoder.  Throws CompileError naming node and fault.
void check_steps(const Graph& graph, const Program& program);

} // namespace overtake::compiler
