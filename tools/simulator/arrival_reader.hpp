// SPDX-License-Identifier: MIT
//
// The key `arrivals` of a load in a scenario.
#pragma once

#include <cstdint>
#include <filesystem>

#include "simulator/reader.hpp"
#include "simulator/scenario.hpp"

namespace overtake::simulator {

/// Reads the arrivals of the tasks of `load`. Files are read from `directory`; `tick_ns` is the
/// scenario's unit of time. Throws Error, which names the place.
void read_arrivals(const Place& place, const std::filesystem::path& directory,
                   std::uint64_t tick_ns, Load& load);

} // namespace overtake::simulator
