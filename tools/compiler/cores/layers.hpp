// SPDX-License-Identifier: MIT
//
// The layers of a network: its instructions before they are split, and which reads what.
#pragma once

#include <array>
#include <vector>

#include "compiler/ir/program.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

struct Layer {
    Step step;                                       ///< its operands lie where no other value does
    std::array<std::vector<std::size_t>, 2> writers; ///< of what each input reads: earlier layers
    std::vector<std::size_t> readers;                ///< later layers, ascending
    std::vector<std::size_t> overwrites; ///< earlier layers that read or write where it writes
    /// Whether a core may have its output for itself: no other layer writes where it does, it is
    /// read within the segment alone, and readers see it, or a part of it, as it was written.
    bool can_be_private = false;
};

/// Memory that layers write or read: a region of an input or output, or of the scratch region what
/// a value that is no part of another one takes.
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

/// Returns the layers of all BPU segments of the program that was lowered from the graph, in order.
/// Its constants stay what they are.
std::vector<SegmentLayers> layers_of(const Graph& graph, const QuantisedGraph& quantised,
                                     Program& program);

/// Returns the one of SegmentLayers::buffers in which the operand is; none for constants.
const Buffer* buffer_of(const SegmentLayers& segment, const overtake_operand& operand);

} // namespace overtake::compiler
