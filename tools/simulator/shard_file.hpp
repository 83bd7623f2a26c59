// SPDX-License-Identifier: MIT
//
// The file that `overtake sim --shard` writes and `overtake sweep-merge` joins. It has all results
// of a shard and a description of the experiment, so that only shards of one experiment are joined.
#pragma once

#include <string>
#include <vector>

#include "simulator/experiment.hpp"

namespace overtake::simulator {

/// The form in which the results of the whole experiment are shown.
struct Presentation {
    bool json = false; ///< JSON; false: a table
    std::vector<std::string> columns{};

    bool operator==(const Presentation&) const = default;
};

/// Returns the text of a shard's file. `points` are the result of run_experiment(). `version` is
/// the program's version: shards of different versions are not joined. Throws Error.
std::string shard_text(const Experiment& experiment, const std::vector<Point>& points,
                       const Presentation& presentation, const std::string& version);

/// The text of a shard's file, and its name in errors.
struct NamedText {
    std::string name;
    std::string text;
};

/// The results of the whole experiment.
struct Merged {
    std::vector<Point> points;
    Presentation presentation;
};

/// Joins all shards of one experiment, in any order, to the results of one run of it. Throws Error
/// (EINVAL) that names a file that is no shard, is damaged, is a second copy of a shard or belongs
/// to another experiment, or that names the missing shards.
Merged merge_shards(const std::vector<NamedText>& shards);

} // namespace overtake::simulator
