// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/ir/graph.hpp"
#include "compiler/ir/program.hpp"

namespace overtake::compiler {

/// How a value that crosses a segment's border lies in its own buffer; without region and offset.
Place dense_place(const Value& value);

/// Bytes of a value that is a tensor of the file; what is in scratch memory is not.
std::uint64_t tensor_bytes(const Value& value, bool on_device);

/// By value the last node that reads it, as an index into Graph::nodes plus one; 0: none does, the
/// greatest number: the graph's caller does.
std::vector<std::size_t> last_readers(const Graph& graph);

/// How many values cross the border of these nodes (indices), constants aside.
std::size_t count_crossing(const Graph& graph, std::size_t first_node, std::size_t node_count,
                           const std::vector<std::size_t>& last_readers);

/// Whether values in the scratch region take turns where they lie, or each has a place of its own.
enum class ReuseScratch { yes, no };

/// Gives every value of a BPU segment its place: those that cross its border get regions of their
/// own, the others share the scratch region in turns.  What a slice, a concat or a reshape can see
/// or show where it lies is not moved: its place is a part of another value's.  Fills `places`,
/// `io` and `scratch_bytes` of the segment; throws CompileError for what exceeds the device.
void place(const Graph& graph, ProgramSegment& segment,
           const std::vector<std::size_t>& last_readers, ReuseScratch reuse = ReuseScratch::yes);

/// The place of `from`, which is dense, with the strides of `to`, as can_reshape() permits it.
Place seen_as(const Place& place, const Value& from, const Value& to);

} // namespace overtake::compiler
