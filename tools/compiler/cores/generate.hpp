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

/// Makes the plan.  `segments` are layers_of() the program.  `blocks` has the blocks of each
/// segment, which cover all layers in order.  `stages` has the stage of each block; without it they
/// are stages_in_order().  Blocks of one stage need nothing of each other, unless one core has
/// both.  A core has its own copies of the results of a block's layers before the last; of other
/// values each byte is written by one core.  Values that are in use at the same one of times_of()
/// the blocks do not share scratch memory.  Constants of pieces are added to the program's.  Throws
/// LimitError if the plan needs more memory or FCs than a group may have, and CompileError if it
/// has too many stages.
CorePlan generate(const Graph& graph, Program& program, std::span<const SegmentLayers> segments,
                  const CoreGroup& group, const std::vector<std::vector<Block>>& blocks,
                  const std::vector<std::vector<std::size_t>>& stages = {});

/// Returns a bound of the time of all segments, in nanoseconds, without the overhead of FCs and
/// syncs.  It is
/// the greater of two times: that of the layers if cores shared them without loss, and that of the
/// longest chain of layers that read each other, each cut over all cores by the scheme that is
/// fastest for it alone.  Plans of cores that are alike rarely take less; they may, if a piece fits
/// a core better than the whole.
std::uint64_t bound_ns(std::span<const SegmentLayers> segments,
                       std::span<const std::shared_ptr<const ovt_profile>> cores);

} // namespace overtake::compiler
