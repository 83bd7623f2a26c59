// SPDX-License-Identifier: MIT
//
// Shard: a part of an experiment, for a separate machine or job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace overtake::simulator {

struct Scenario;

/// One of `of` parts of a sweep: every point whose index divided by `of` leaves number - 1. All
/// parts therefore take about as long, whichever key makes runs long.
struct Shard {
    unsigned number = 1; ///< from 1
    unsigned of = 1;

    bool operator==(const Shard&) const = default;
    /// Returns the indexes of its points among `count` points.
    std::vector<std::size_t> points(std::size_t count) const;
};

/// Parses "I/N". Throws Error (EINVAL).
Shard parse_shard(const std::string& text);

/// A number that depends on all numbers that were added (FNV-1a, 64 bits).
class Digest {
public:
    void add(std::uint64_t number);
    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};

/// Returns a digest of the times of models and arrivals of a scenario, which files may have given.
std::uint64_t digest_of(const Scenario& scenario);

} // namespace overtake::simulator
