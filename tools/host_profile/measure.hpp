// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "overtake/model.hpp"

namespace overtake::host_profile {

struct FcTimes {
    std::vector<double> fcs_ns; ///< median of each FC, counted through all segments
    double total_ns = 0;        ///< median from the first FC's begin to the last one's end
};

/// Runs a model `runs` times (after one that does not count) on noise, on one embedded core in
/// functional mode.  `progress` is called with 0..1.  Throws Error.
FcTimes measure(const std::shared_ptr<const Model>& model, unsigned runs,
                const std::function<void(double)>& progress = {});

} // namespace overtake::host_profile
