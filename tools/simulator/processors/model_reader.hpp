// SPDX-License-Identifier: MIT
//
// The model of a scenario with processors: its units, and their times on each class.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "overtake/model_contents.hpp"
#include "simulator/processors/scenario.hpp"
#include "simulator/reader.hpp"

namespace overtake::simulator::processors {

/// The limit of the times, sizes and rates of such a scenario; arrivals of loads may have more.
inline constexpr std::uint64_t most_number = std::uint64_t{1} << 40;

/// The classes of a scenario's processors, and its unit of time.
struct Classes {
    const std::vector<std::string>& names;
    const std::vector<bool>& are_pools;
    std::uint64_t tick_ns = 1000;
};

/// Reads a model. Files are relative to `directory`. Throws Error EINVAL, which names the place.
Model read_model(const Place& place, const std::string& name, const Classes& classes,
                 const std::filesystem::path& directory);

/// Takes the units of a compiled network: work by the names of classes. A class of the scenario for
/// which the network was not compiled has no work in them. `place` is for messages.
void take_units(const Place& place, const ModelContents& contents, const Classes& classes,
                Model& model);

} // namespace overtake::simulator::processors
