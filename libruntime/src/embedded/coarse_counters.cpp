// SPDX-License-Identifier: MIT
#include "embedded/coarse_counters.hpp"

#include <utility>

namespace overtake {

void CoarseCounters::take(std::vector<drm_overtake_core_info> exact) {
    shown_ = std::move(exact);
    for (std::size_t i = 0; i < shown_.size(); i++) {
        shown_[i].busy_ns = sums_[i].busy_ns;
        shown_[i].fcs_high = sums_[i].fcs[OVT_RING_HIGH];
        shown_[i].fcs_normal = sums_[i].fcs[OVT_RING_NORMAL];
        shown_[i].preemptions = ovt_coarse_preemptions(shown_[i].preemptions);
    }
}

} // namespace overtake
