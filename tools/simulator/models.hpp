// SPDX-License-Identifier: MIT
//
// The models of a scenario: written out, or taken from a compiled model file.
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

/// The "models" object of a scenario whose times are multiples of `tick_ns`. Throws Error.
Models read_models(const Place& place, Kind kind, const std::filesystem::path& directory,
                   std::uint64_t tick_ns = 1000, const PartsDevice& device = {});

/// One after the other.  Throws Error.
std::shared_ptr<const Chain> joined_chain(const Place& place,
                                          const std::vector<std::shared_ptr<const Chain>>& models);

/// Modelled time of each FC of a compiled BPU segment. Throws Error if the profile is not known.
std::vector<std::uint64_t> modelled_ns(const Model& model, const Segment& segment);

/// The same of a segment that was compiled for this clock.
std::vector<std::uint64_t> modelled_ns(std::uint32_t clock_khz, const Segment& segment);

/// Times in whole ticks, at least 1 each. Rounded so that sums stay right: one behind the other
/// ends at the nearest tick.
std::vector<std::uint64_t> whole_ticks(const std::vector<std::uint64_t>& ns, std::uint64_t tick_ns);

/// An FC of `time` in as few parts of at most `most` as it takes, which differ by 1 at most.
std::vector<std::uint64_t> equal_parts(std::uint64_t time, std::uint64_t most);

/// A list of FC durations as a segment. Throws Error.
Chain::Segment bpu_segment(const Place& fcs);

} // namespace overtake::simulator
