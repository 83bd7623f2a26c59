// SPDX-License-Identifier: MIT
//
// Groups: jobs and BPU segments with parts on several cores (docs/scenarios.md, "Groups").
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

/// The device's view of `segment`, which has parts, in `task`; `program` has enough FCs for each.
void set_group(LiveTask& task, const Chain::Segment& segment, const ovt_fc* program);

} // namespace overtake::simulator
