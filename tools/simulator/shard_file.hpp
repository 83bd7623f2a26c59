// SPDX-License-Identifier: MIT
//
// The file that `overtake sim --shard` writes and `overtake sweep-merge` joins: all results of a
// shard, and a description of the experiment, so that only shards of one experiment are joined.
#pragma once

#include <string>
#include <vector>

#include "simulator/experiment.hpp"

namespace overtake::simulator {

/// How the whole experiment is shown.
struct Presentation {
    bool json = false; ///< else a table
    std::vector<std::string> columns{};

    bool operator==(const Presentation&) const = default;
};

/// The text of a shard's file: `points` are what run_experiment() gave. `version` is that of the
/// program, which another one's shards are not joined to. Throws Error.
std::string shard_text(const Experiment& experiment, const std::vector<Point>& points,
                       const Presentation& presentation, const std::string& version);

/// A shard's file and its name in errors.
struct NamedText {
    std::string name;
    std::string text;
};

/// The whole experiment.
struct Merged {
    std::vector<Point> points;
    Presentation presentation;
};

/// Joins all shards of one experiment, in any order, to what it gives in one piece. Throws Error
/// (EINVAL) naming a file that is no shard, damaged, another one's double or of another experiment,
/// and the shards that are missing.
Merged merge_shards(const std::vector<NamedText>& shards);

} // namespace overtake::simulator
