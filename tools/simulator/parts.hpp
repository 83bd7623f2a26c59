// SPDX-License-Identifier: MIT
//
// Groups: jobs and BPU segments with parts on several cores (docs/reference/scenarios.md,
// "Groups").
#pragma once

#include <cstdint>

#include "simulator/reader.hpp"
#include "simulator/scenario.hpp"

namespace overtake::simulator {

struct LiveTask;

/// The device that parts are for.
struct PartsDevice {
    std::uint32_t cores = 1;
    std::uint64_t sync = 0;
    bool parts_name_cores = true; ///< they may
};

/// A "parts" list as a segment. Throws Error.
Chain::Segment parts_segment(const Place& place, const PartsDevice& device);

/// The device's view of the parts of `segment`, if it has any, in `task`; `program` has enough FCs
/// for each. Parts that name no core go to the task's, or to `core` if those are not settled.
void set_group(LiveTask& task, const Chain::Segment& segment, const ovt_fc* program,
               std::uint32_t core);

/// Chooses, of `cores` (bit k - 1 for core k), those that have the least to do, for the parts of a
/// task in order, and returns them. The task has a span.
std::uint64_t settle_cores(LiveTask& task, const ovt_fw& device, const ovt_fw_context& context,
                           std::uint64_t cores);

/// Prepares `task`, which arrives, for the task scheduler: a task on several cores has a span.
void set_span(LiveTask& task, const Chain& chain);

} // namespace overtake::simulator
