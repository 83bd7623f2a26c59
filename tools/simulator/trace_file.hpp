// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "simulator/reader.hpp"

namespace overtake::simulator {

/// Reads arrivals in the scenario's unit of time, ascending: one on each line; empty lines and
/// lines that begin with # are skipped. Throws Error at `place`, which names the file, the line and
/// the fault.
std::vector<std::uint64_t> read_trace(const Place& place, const std::filesystem::path& path);

} // namespace overtake::simulator
