// SPDX-License-Identifier: MIT
//
// Counters of a shared device's cores as strangers see them: firmware-sim/host/coarse.h has the
// rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "overtake_accel.h"

#include <ovt_port.h>

extern "C" {
#include "fw/fw.h"
#include "host/coarse.h"
}

namespace overtake {

/// Used under the host's lock.
class CoarseCounters {
public:
    explicit CoarseCounters(unsigned cores) : sums_(cores), shown_(cores) {}

    /// Called before each change of counters and before each look at them.  If a new period has
    /// begun, calls `exact` with each core's index for the present counters.
    template <class Exact>
    void roll(std::uint64_t now_ns, Exact exact) {
        const std::uint64_t period = ovt_coarse_period(now_ns);
        if (period == period_)
            return;
        period_ = period;
        for (std::size_t i = 0; i < shown_.size(); i++)
            take(i, exact(i));
    }
    void count(ovt_coarse_rest& rest, const ovt_event& event) {
        ovt_coarse_count(&sums_[event.core - 1], &rest, event.ring, event.duration_ns);
    }
    /// The counters that strangers see, with the core limits of the last roll().
    const std::vector<drm_overtake_core_info>& shown() const noexcept { return shown_; }

private:
    void take(std::size_t core, const drm_overtake_core_info& exact);

    std::uint64_t period_ = 0;
    std::vector<ovt_coarse_sum> sums_;
    std::vector<drm_overtake_core_info> shown_;
};

} // namespace overtake
