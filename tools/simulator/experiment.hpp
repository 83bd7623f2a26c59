// SPDX-License-Identifier: MIT
//
// Experiments: many runs, over a grid of settings and over seeds, on all CPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "simulator/settings.hpp"
#include "simulator/shard.hpp"
#include "simulator/simulate.hpp"
#include "simulator/summary.hpp"

namespace overtake::simulator {

/// One combination of settings: a summary for each seed.
struct Point {
    std::vector<Setting> settings;
    std::vector<Summary> runs;
};

struct Experiment {
    nlohmann::json document;         ///< the scenario
    std::filesystem::path directory; ///< directory of files that it names
    const Grid* grid = nullptr;      ///< null: the scenario as it is
    unsigned repeat = 1;             ///< seeds: the scenario's and those that follow it
    Shard shard{};                   ///< of the points, those that are run
    Trim trim{};                     ///< left out of every run
    unsigned threads = 1;
    std::vector<std::string> columns{}; ///< that to_text() or to_json() will be asked for
    /// Called with the share done, from one thread at a time.
    std::function<void(double)> progress;
};

/// In the order of the grid, whatever the number of threads; points of other shards have no runs.
/// Throws Error: before anything runs of
/// the first point whose scenario is refused, naming its settings, or if a column fits no figure;
/// else of the first run that fails. Memory: the results, and a scenario for each thread.
std::vector<Point> run_experiment(const Experiment& experiment);

/// The points, without runs.
std::vector<Point> points_of(const Grid* grid);

/// What the files come to that the scenarios of all points name, wherever they are: times of models
/// and arrivals. Throws Error as run_experiment() does.
std::uint64_t digest_of_files(const Experiment& experiment);

/// One row for each point. With several runs a cell is the mean and the half-width of its 95 %
/// confidence interval (Student's t), of the runs that have the figure; the figure alone if they
/// are all alike, "-" if none has it. `columns` chooses among the figures, in their order here: a
/// whole head, its end ("p99"), its beginning ("detector": the usual figures of the class), or
/// "all"; empty: the usual ones. Throws Error (EINVAL) for one that fits no head.
std::string to_text(const std::vector<Point>& points, const std::vector<std::string>& columns = {});
/// The same, null in place of "-"; without columns all figures.
nlohmann::ordered_json to_json(const std::vector<Point>& points,
                               const std::vector<std::string>& columns = {});

} // namespace overtake::simulator
