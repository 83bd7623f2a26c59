// SPDX-License-Identifier: MIT
//
// Steps, FCs and stages of several cores, from blocks of layers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compiler/cores/blocks.hpp"
#include "compiler/cores/core_plan.hpp"
#include "compiler/cores/layers.hpp"

namespace overtake::compiler {

struct CoreGroup {
    std::vector<std::shared_ptr<const ovt_profile>> cores; ///< at most OVERTAKE_MAX_CORES
    std::uint64_t sync_cycles = 0;                         ///< of core 1
    std::uint32_t max_time_per_fc_us = 0;                  ///< 0: one FC for each stage of a part
};

/// `blocks` has those of each of the segments, which are layers_of() the program; they cover all
/// layers in order.  `stages` has the stage of each; without it they are stages_in_order().  Blocks
/// of a stage need nothing of each other, or one core has both.  A core's copies of what a block's
/// layers before the last make are its own; of other values each byte is written by one core.  In
/// scratch memory nothing is reused at one of times_of() the blocks.  Pieces' constants go into the
/// program's.  Throws LimitError where the plan needs more memory or FCs than a group may
/// have, and CompileError where it has too many stages.
CorePlan generate(const Graph& graph, Program& program, std::span<const SegmentLayers> segments,
                  const CoreGroup& group, const std::vector<std::vector<Block>>& blocks,
                  const std::vector<std::vector<std::size_t>>& stages = {});

/// Of all segments, in nanoseconds, overhead of FCs and syncs aside: the greater of what the layers
/// would take if cores shared them without loss, and of the longest chain of layers that read each
/// other, each cut over all cores by whichever scheme is the fastest for it alone.  Plans of cores
/// that are alike rarely come below; where a piece fits a core better than the whole they may.
std::uint64_t bound_ns(std::span<const SegmentLayers> segments,
                       std::span<const std::shared_ptr<const ovt_profile>> cores);

} // namespace overtake::compiler
