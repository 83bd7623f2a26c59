// SPDX-License-Identifier: MIT
//
// The embedded device on which tests run a scenario of jobs or of tasks.
#pragma once

#include <vector>

#include "overtake/device.hpp"

namespace overtake::test {

/// Returns options with mode timed, profile ideal, a manual clock, and the scenario's cores, limits
/// and fairness.  `records` gets the FCs that have ended, and outlives the device.
template <typename Scenario>
EmbeddedOptions device_of(const Scenario& scenario, std::vector<FcRecord>& records) {
    EmbeddedOptions options;
    options.cores = static_cast<unsigned>(scenario.core_limits.size());
    options.core_limits = scenario.core_limits;
    options.fair = scenario.fair;
    options.mode = OVERTAKE_MODE_TIMED;
    options.profile = "ideal";
    options.manual_clock = true;
    options.watchdog_cycles = ~0ull >> 1; // FCs may last for seconds
    options.on_fc = [](void* context, const FcRecord& record) {
        static_cast<std::vector<FcRecord>*>(context)->push_back(record);
    };
    options.on_fc_context = &records;
    return options;
}

} // namespace overtake::test
