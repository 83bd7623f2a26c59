// SPDX-License-Identifier: MIT
#include "embedded/coarse_counters.hpp"

namespace overtake {

void CoarseCounters::take(std::size_t core, const drm_overtake_core_info& exact) {
    drm_overtake_core_info& shown = shown_[core];
    shown = exact;
    shown.busy_ns = sums_[core].busy_ns;
    shown.fcs_high = sums_[core].fcs[OVT_RING_HIGH];
    shown.fcs_normal = sums_[core].fcs[OVT_RING_NORMAL];
    shown.preemptions = ovt_coarse_preemptions(exact.preemptions);
}

} // namespace overtake
