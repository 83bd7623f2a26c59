// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "scheduler/case.hpp"

namespace overtake::fuzz {

/// The work of segments if each runs after the others.
struct Work {
    std::uint64_t steps = 0;
    std::uint64_t ticks = 0;

    void add(const Segment& segment, std::uint64_t watchdog) {
        ticks += segment.cpu;
        steps += segment.fcs.size() + 1;
        for (const Fc& fc : segment.fcs)
            ticks += fc.kind == FcKind::stuck ? watchdog : fc.duration;
    }
};

} // namespace overtake::fuzz
