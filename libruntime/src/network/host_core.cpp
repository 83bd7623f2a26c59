// SPDX-License-Identifier: MIT
#include "network/host_core.hpp"

#include <cerrno>

#include "embedded/step_clock.hpp"
#include "simd_choice.hpp"

extern "C" {
#include "host/limits.h"
}

namespace overtake {

namespace {

/// The most modelled time of one FC: here a whole unit is one FC, however long.
constexpr std::uint32_t most_ms = 60'000;

} // namespace

HostCore::HostCore() {
    ovt_core_init(&core_, 1, ovt_profile_find("default"), OVT_MODE_FUNCTIONAL);
    core_.clock = ovt_fc_clock(step_clock_ns);
    const auto level = chosen_simd();
    if (!level)
        return;
    simd_ = std::make_unique<ovt_simd_scratch>();
    ovt_core_use_simd(&core_, simd_.get(), *level);
}

std::int32_t HostCore::execute(std::span<const overtake_fc> fcs, HostRegions regions,
                               std::size_t scratch_bytes) {
    if (scratch_.size() < scratch_bytes)
        scratch_.resize(scratch_bytes);
    if (scratch_bytes != 0)
        regions[OVERTAKE_REGION_SCRATCH] = {reinterpret_cast<u8*>(scratch_.data()), scratch_bytes,
                                            OVT_REGION_READ | OVT_REGION_WRITE, 0};
    for (const overtake_fc& fc : fcs)
        switch (execute(fc, regions)) {
        case OVERTAKE_FAULT_NONE:
            break;
        case OVERTAKE_FAULT_WATCHDOG:
        case OVERTAKE_FAULT_CLOCK:
            return -ETIMEDOUT;
        default:
            return -ENOEXEC;
        }
    return 0;
}

/// Returns the fault of the FC.
std::uint32_t HostCore::execute(const overtake_fc& fc, const HostRegions& regions) {
    ovt_ring& ring = core_.rings[OVT_RING_NORMAL];
    ovt_descriptor& descriptor = ring.entries[ring.tail % OVT_RING_ENTRIES];
    descriptor = {};
    descriptor.regions = regions.data();
    descriptor.first_insn = fc.first_insn;
    descriptor.insn_count = fc.insn_count;
    ring.tail++;
    ovt_core_start(&core_, OVT_RING_NORMAL, ovt_watchdog_cycles(core_.profile, most_ms));
    StepClock clock;
    while (clock.step(core_) != OVT_STEP_FINISHED)
        ;
    core_.active = 0;
    return core_.exec.fault;
}

} // namespace overtake
