// SPDX-License-Identifier: MIT
//
// A model of a scenario with processors: its units, and what they take on each class.
#pragma once

#include <string>
#include <vector>

#include "simulator/processors/scenario.hpp"
#include "simulator/reader.hpp"

namespace overtake::simulator::processors {

/// The largest number of such a scenario.
inline constexpr std::uint64_t most_number = std::uint64_t{1} << 40;

/// Throws Error EINVAL, naming the place.
Model read_model(const Place& place, const std::string& name,
                 const std::vector<std::string>& class_names,
                 const std::vector<bool>& class_is_pool);

} // namespace overtake::simulator::processors
