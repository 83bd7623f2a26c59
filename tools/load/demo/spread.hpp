// SPDX-License-Identifier: MIT
//
// The spread of several runs of one set-up.
#pragma once

#include <cstddef>
#include <vector>

#include "load/demo/demo.hpp"

namespace overtake::demo {

/// Summarises each figure by itself: its median (for an even number of runs, the lower of the two
/// in the middle) and its range.
struct Spread {
    Figures median;
    Figures least;
    Figures most;
    std::size_t typical; ///< index of the first run whose p99 is the median
};

/// `runs` is not empty.
Spread spread(const std::vector<Figures>& runs);

} // namespace overtake::demo
