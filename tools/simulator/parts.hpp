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

/// The device for which parts are read.
struct PartsDevice {
    std::uint32_t cores = 1;
    std::uint64_t sync = 0;
    bool parts_name_cores = true; ///< whether parts may name cores
};

/// Reads a list "parts" as a segment. Throws Error.
Chain::Segment parts_segment(const Place& place, const PartsDevice& device);

/// Sets the device's view of the parts of `segment`, if it has any, in `task`. `program` has enough
/// FCs for each part. Parts that name no core go to the task's cores, or to `core` if those are not
/// settled.
void set_group(LiveTask& task, const Chain::Segment& segment, const ovt_fc* program,
               std::uint32_t core);

/// Chooses for the parts of a task, in order, those of `cores` (bit k - 1 for core k) that have the
/// least to do, and returns the chosen cores. The task has a span.
std::uint64_t settle_cores(LiveTask& task, const ovt_fw& device, const ovt_fw_context& context,
                           std::uint64_t cores);

/// Prepares an arriving task for the task scheduler: a task on several cores has a span.
void set_span(LiveTask& task, const Chain& chain);

} // namespace overtake::simulator
