// SPDX-License-Identifier: MIT
//
// The models of a scenario: given in the scenario, or read from a compiled model file.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "overtake/model.hpp"
#include "overtake/model_contents.hpp"
#include "simulator/parts.hpp"
#include "simulator/reader.hpp"
#include "simulator/scenario.hpp"

namespace overtake::simulator {

using Models = std::map<std::string, std::shared_ptr<const Chain>>;

/// Reads the object "models" of a scenario whose times are multiples of `tick_ns`. Throws Error.
Models read_models(const Place& place, Kind kind, const std::filesystem::path& directory,
                   std::uint64_t tick_ns = 1000, const PartsDevice& device = {});

/// Returns the chains joined, one after the other. Throws Error.
std::shared_ptr<const Chain> joined_chain(const Place& place,
                                          const std::vector<std::shared_ptr<const Chain>>& models);

/// Returns the modelled time of each FC of a compiled BPU segment.
std::vector<std::uint64_t> modelled_ns(const Model& model, const Segment& segment);

/// Returns the same for a segment that was compiled for this clock.
std::vector<std::uint64_t> modelled_ns(std::uint32_t clock_khz, const Segment& segment);

/// Converts times to whole ticks, each at least 1. Rounding keeps sums right: each time of a
/// sequence ends at the nearest tick, unless it would then take 0 ticks.
std::vector<std::uint64_t> whole_ticks(const std::vector<std::uint64_t>& ns, std::uint64_t tick_ns);

/// Divides an FC of `time` into as few parts of at most `most` as possible; they differ by at most
/// 1. Throws Error (EINVAL) if there are too many parts.
std::vector<std::uint64_t> equal_parts(std::uint64_t time, std::uint64_t most);

/// Reads a list of FC durations as a segment. Throws Error.
Chain::Segment bpu_segment(const Place& fcs);

} // namespace overtake::simulator
