// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "cpu/layout_costs.hpp"

namespace overtake::host_profile {

/// Measures operators and conversions on this machine, in one thread; the fastest of `runs` runs
/// counts.  `progress` is called with 0..1.  Throws Error ENOMEM.
cpu::LayoutCosts measure_layout_costs(unsigned runs, const std::function<void(double)>& progress);

} // namespace overtake::host_profile
