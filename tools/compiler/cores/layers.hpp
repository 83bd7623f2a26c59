// SPDX-License-Identifier: MIT
//
// The layers of a network: its instructions before they are split, and the layers that each reads.
#pragma once

#include <array>
#include <vector>

#include "compiler/ir/program.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

struct Layer {
    Step step;                                       ///< values do not share memory
    std::array<std::vector<std::size_t>, 2> writers; ///< of what each input reads: earlier layers
    std::vector<std::size_t> readers;                ///< later layers, ascending
    std::vector<std::size_t> overwrites; ///< earlier layers that read or write where it writes
    /// Whether each core may have a copy of its output: no other layer writes to the buffer, layers
    /// of the segment alone read it, and they read it, or a box of it, in the shape in which it was
    /// written.
    bool can_be_private = false;
};

/// Memory that layers write or read: the region of an input or output, or the bytes in the scratch
/// region of a value that is no part of another one.
struct Buffer {
    std::uint32_t region = 0;
    std::uint64_t offset = 0, bytes = 0;
};

/// A segment of the program on the BPU.
struct SegmentLayers {
    std::size_t segment = 0; ///< of Program::segments
    std::vector<Layer> layers;
    std::vector<Buffer> buffers; ///< ascending by region and offset
    ProgramSegment memory;       ///< its places and regions, without reuse
};

/// Returns the layers of all BPU segments of the program, which was lowered from the graph, in
/// order.  Lowers the graph again with the program's constants, which does not change their bytes.
std::vector<SegmentLayers> layers_of(const Graph& graph, const QuantisedGraph& quantised,
                                     Program& program);

/// Returns the one of SegmentLayers::buffers in which the operand is; null for constants.
const Buffer* buffer_of(const SegmentLayers& segment, const overtake_operand& operand);

} // namespace overtake::compiler
