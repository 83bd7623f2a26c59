// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "simulator/reader.hpp"

namespace overtake::simulator {

/// Arrivals in us, ascending: one a line, lines that begin with # are comments. Throws Error at
/// `place`, which names the file, the line and what is wrong.
std::vector<std::uint64_t> read_trace(const Place& place, const std::filesystem::path& path);

} // namespace overtake::simulator
