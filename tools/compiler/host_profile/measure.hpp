// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "overtake/device.hpp"
#include "overtake/model.hpp"

namespace overtake::host_profile {

/// The fastest of several runs: the time without other load on the CPU.
struct FcTimes {
    std::vector<double> fcs_ns; ///< each FC by itself, counted through all segments
    double device_ns = 0;       ///< the part within the device's segments
    double total_ns = 0;        ///< from the first FC's begin to the last one's end

    /// Takes the smaller of each time; both are of the same model.
    void keep_faster(const FcTimes& other);
};

/// Runs a model on noise, on embedded cores in functional mode, and calls `each` with the number of
/// the run, 0..runs, and its FCs as they ended.  The first run does not count.  Throws Error.
void run_on_noise(
    const std::shared_ptr<const Model>& model, unsigned cores, unsigned runs,
    const std::function<void(unsigned run, const std::vector<FcRecord>& records)>& each);

/// Runs a model `runs` times, at least once (after one that does not count), on noise, on one
/// embedded core in functional mode.  `progress` is called with 0..1.  Throws Error.
FcTimes measure(const std::shared_ptr<const Model>& model, unsigned runs,
                const std::function<void(double)>& progress = {});

} // namespace overtake::host_profile
