// SPDX-License-Identifier: MIT
//
// The scheduling contract at FC level, written down a second time and as plainly as possible:
// tests compare the device with this oracle. It shares no code with the device.
#pragma once

#include "scenario.hpp"

namespace overtake::test {

Timeline oracle_timeline(const Scenario& scenario);

} // namespace overtake::test
