// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/program.hpp"
#include "compiler/lower/memory_plan.hpp"
#include "compiler/passes/order_segments.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

/// Turns the nodes of each BPU segment into instructions.  Values that cross the segment's border
/// are in regions of their own and all others in scratch.  Leaves Program::fcs empty.  Throws
/// CompileError if limits of the device are exceeded.
Program lower(const Graph& graph, const QuantisedGraph& quantised);

/// Does the same with other segments: ranges that cover the nodes in order, each of one processor.
/// Adds weights, tables and parameters to `constants`.
Program lower(const Graph& graph, const QuantisedGraph& quantised,
              const std::vector<NodeRange>& ranges, Constants constants,
              ReuseScratch reuse = ReuseScratch::yes);

/// Checks every step with the device's own decoder.  Throws CompileError naming the node and the
/// fault.
void check_steps(const Graph& graph, const Program& program);

/// Does the same for steps that run in the memory of one segment.
void check_steps(const Graph& graph, std::span<const Step> steps, const ProgramSegment& segment,
                 std::uint64_t scratch_bytes, const Constants& constants);

} // namespace overtake::compiler
