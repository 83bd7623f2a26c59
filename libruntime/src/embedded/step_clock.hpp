// SPDX-License-Identifier: MIT
//
// StepClock: executes one FC in steps, and enforces the limit of its CPU time.
#pragma once

#include <cstdint>

#include "monotonic_clock.hpp"
#include "thread_clock.hpp"

extern "C" {
#include "hw/core.h"
}

namespace overtake {

/// CPU time that executing one FC may take in a process of its own.
constexpr std::uint64_t step_clock_ns = 60'000'000'000;

class StepClock {
public:
    ovt_step step(ovt_core& core) {
        const std::uint64_t begin_ns = monotonic_ns();
        const ovt_step step = ovt_core_step(&core, cycles_);
        const std::uint64_t end_ns = monotonic_ns();
        cycles_ = ovt_step_budget(cycles_, end_ns - begin_ns, most_cycles);
        if (step != OVT_STEP_FINISHED)
            ovt_core_watch(&core, thread_cpu_ns() - cpu_begin_ns_, end_ns - begin_ns_, end_ns);
        return step;
    }

private:
    /// The longest step: short enough that an aborted FC releases its core at once.
    static constexpr std::uint64_t most_cycles = 4096;

    const std::uint64_t begin_ns_ = monotonic_ns();
    const std::uint64_t cpu_begin_ns_ = thread_cpu_ns();
    std::uint64_t cycles_ = most_cycles;
};

} // namespace overtake
