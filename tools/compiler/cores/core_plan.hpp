// SPDX-License-Identifier: MIT
//
// CorePlan: the network once more, cut for several cores that go through stages together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/ir/program.hpp"

namespace overtake::compiler {

/// The division of a layer's output among cores: by rows, by columns, by both, by channels, by
/// pixels in proportion to their speeds, or not at all.
enum class Scheme : std::uint8_t { single, row, column, grid, channel, balanced };

/// A part of an instruction's output.
struct Box {
    std::uint32_t row = 0, rows = 0;
    std::uint32_t column = 0, columns = 0;
    std::uint32_t channel = 0, channels = 0;
    bool operator==(const Box&) const = default;
};

/// Layers that cores run without meeting.  Each core makes its share of the last layer's output.
/// Each core computes for itself all parts of the other layers that its share needs, even if other
/// cores compute some of these parts, too.
struct Block {
    std::size_t first_layer = 0, layer_count = 0; ///< layers: instructions before they were split
    Scheme scheme = Scheme::single;
    std::vector<std::vector<Box>> shares; ///< by core; together all of the output, once
};

/// The FCs of a segment that one core runs, in order.
struct CorePart {
    std::size_t core = 0;              ///< of CorePlan::cores
    std::vector<FunctionCall> fcs;     ///< first_step in CorePlan::steps
    std::vector<std::uint32_t> stages; ///< of each FC, never less than that of the one before
};

/// A segment of the program on the BPU.  Its regions are those of the one-core program.
struct CoreSegment {
    std::size_t segment = 0;     ///< of Program::segments
    std::vector<CorePart> parts; ///< ascending by core; those without FCs are left out
    std::uint64_t scratch_bytes = 0;
    std::uint64_t stage_count = 0;
    std::uint64_t ns = 0; ///< time alone, stage by stage, syncs included
};

/// The facts of a layer in a report.
struct LayerReport {
    std::size_t segment = 0, node = 0; ///< of Program::segments, Graph::nodes
    Scheme scheme = Scheme::single;
    bool transmits = false;                            ///< cores meet behind it
    std::vector<std::uint64_t> outputs;                ///< elements that each core makes
    std::vector<std::uint64_t> cycles;                 ///< of each core, halo included
    std::uint64_t operations = 0, halo_operations = 0; ///< of one core, and those in excess
};

struct CorePlan {
    std::vector<std::shared_ptr<const ovt_profile>> cores; ///< one for each; may be unlike
    std::uint64_t sync_cycles = 0;                         ///< of core 1
    std::vector<Step> steps;
    std::vector<CoreSegment> segments; ///< those of the BPU, in order
    std::vector<LayerReport> layers;
    std::uint64_t one_core_ns = 0, bound_ns = 0; ///< of all segments on the BPU
};

} // namespace overtake::compiler
