// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "cpu/layout_costs.hpp"

namespace overtake::host_profile {

/// What operators and conversions take on this machine, in one thread; of `runs` runs the fastest
/// counts.  `progress` is called with 0..1.  Throws Error ENOMEM.
cpu::LayoutCosts measure_layout_costs(unsigned runs, const std::function<void(double)>& progress);

} // namespace overtake::host_profile
