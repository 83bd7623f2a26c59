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

/// One combination of settings, with a summary for each seed.
struct Point {
    std::vector<Setting> settings;
    std::vector<Summary> runs;
};

struct Experiment {
    nlohmann::json document;         ///< the scenario
    std::filesystem::path directory; ///< the directory of the files that it names
    const Grid* grid = nullptr;      ///< null: the scenario as it is
    unsigned repeat = 1;             ///< the number of seeds: the scenario's and those after it
    Shard shard{};                   ///< the points that are run
    Trim trim{};                     ///< the times that are left out of every run
    unsigned threads = 1;
    std::vector<std::string> columns{}; ///< the columns of to_text() or to_json()
    /// Called with the share that is done, by one thread at a time.
    std::function<void(double)> progress;
};

/// Returns the points in the order of the grid, for any number of threads; points of other shards
/// have no runs. Throws Error before anything runs, if a scenario is refused (for the first such
/// point, naming its settings) or if a column fits no figure. Otherwise throws the Error of the
/// first run that fails. Memory holds the results, and a scenario for each thread.
std::vector<Point> run_experiment(const Experiment& experiment);

/// Returns the points, without runs.
std::vector<Point> points_of(const Grid* grid);

/// Returns a digest of the times of models and arrivals in the scenarios of all points, which files
/// may give, wherever the files are. Throws Error as run_experiment() does, and for a scenario with
/// processors.
std::uint64_t digest_of_files(const Experiment& experiment);

/// Returns a table with a row for each point. With several runs, a cell is the mean and the
/// half-width of its 95 % confidence interval (Student's t), over the runs that have the figure. If
/// all have the same figure, it is shown alone; "-" if no run has it. `columns` chooses figures, in
/// the order given: by a whole head, by its end ("p99"), by its beginning ("detector": the usual
/// figures of the class), or by "all"; empty: the usual figures. Throws Error (EINVAL) for a column
/// that fits no head.
std::string to_text(const std::vector<Point>& points, const std::vector<std::string>& columns = {});
/// Returns the same as JSON, with null in place of "-"; without columns, all figures.
nlohmann::ordered_json to_json(const std::vector<Point>& points,
                               const std::vector<std::string>& columns = {});

} // namespace overtake::simulator
