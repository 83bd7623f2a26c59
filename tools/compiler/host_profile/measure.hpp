// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "overtake/device.hpp"
#include "overtake/model.hpp"

namespace overtake::host_profile {

/// The least times of several runs, which other load on the CPU affects least.
struct FcTimes {
    std::vector<double> fcs_ns; ///< each FC by itself, counted through all segments
    double device_ns = 0;       ///< the part within the device's segments
    double total_ns = 0;        ///< from the first FC's begin to the last one's end

    /// Takes the smaller of each time; both are of the same model.
    void keep_faster(const FcTimes& other);
};

/// Runs a model on noise, runs + 1 times, on embedded cores in functional mode.  Calls `each` with
/// the number of the run, from 0, and with its FCs in the order in which they ended.  Run 0 warms
/// up and does not count.  Throws Error.
void run_on_noise(
    const std::shared_ptr<const Model>& model, unsigned cores, unsigned runs,
    const std::function<void(unsigned run, const std::vector<FcRecord>& records)>& each);

/// Measures a model with run_on_noise() on one core.  `runs` is at least 1.  `progress` is called
/// with 0..1.  Throws Error.
FcTimes measure(const std::shared_ptr<const Model>& model, unsigned runs,
                const std::function<void(double)>& progress = {});

} // namespace overtake::host_profile
