// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/ir/graph.hpp"
#include "compiler/ir/program.hpp"

namespace overtake::compiler {

/// Returns the layout in its own buffer of a value that crosses a segment's border, without region
/// and offset.
Place dense_place(const Value& value);

/// Returns the bytes of a value that is a tensor of the file.  Values in scratch memory are no
/// tensors of the file.
std::uint64_t tensor_bytes(const Value& value, bool on_device);

/// Returns, by value, the last node that reads it, as an index into Graph::nodes plus one.  0: no
/// node reads it; the greatest number: the graph's caller does.
std::vector<std::size_t> last_readers(const Graph& graph);

/// Returns how many values cross the border of these nodes (indices), without constants.
std::size_t count_crossing(const Graph& graph, std::size_t first_node, std::size_t node_count,
                           const std::vector<std::size_t>& last_readers);

/// Whether values share the scratch region in turns, or each has a place of its own.
enum class ReuseScratch { yes, no };

/// Gives every value of a BPU segment its place.  Values that cross its border get regions of their
/// own, the others share the scratch region in turns.  Elements that a slice, a concat or a reshape
/// can use in place are not moved: such a value's place is a part of another value's.  Fills
/// `places`, `io` and `scratch_bytes` of the segment.  Throws CompileError if a limit of the device
/// is exceeded.
void place(const Graph& graph, ProgramSegment& segment,
           const std::vector<std::size_t>& last_readers, ReuseScratch reuse = ReuseScratch::yes);

/// Returns the place of `from`, which is dense, with the strides of `to`, if can_reshape() permits
/// it.
Place seen_as(const Place& place, const Value& from, const Value& to);

} // namespace overtake::compiler
