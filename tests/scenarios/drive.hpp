// SPDX-License-Identifier: MIT
//
// Runs a scenario on a device whose clock is stepped by hand.
#pragma once

#include <functional>

#include "backends.hpp"
#include "overtake/device.hpp"
#include "scenario.hpp"

namespace overtake::test {

/// `device` has mode timed, profile ideal, a manual clock, and the scenario's cores, limits and
/// fairness.
/// `take_fcs` is called once, after the last event, and returns the FCs that ran.
/// Throws Error.
Timeline drive(Device& device, const Scenario& scenario,
               const std::function<std::vector<FcRecord>()>& take_fcs);

/// Runs the scenario on a device made for it: embedded, or of a server.
Timeline drive_made_here(const Scenario& scenario, const Backend& backend = {"embedded"});

} // namespace overtake::test
