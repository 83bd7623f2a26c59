// SPDX-License-Identifier: MIT
//
// The contents of a timeline of several processors, with numbers in place of names.
#pragma once

#include <algorithm>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "processors_format.hpp"

namespace overtake::test::processors {

struct SeenFc {
    std::size_t index;
    std::size_t processor;
    bool high;
    Time start;
    Time end;
};

struct SeenRun {
    std::string name; ///< TASK.K
    std::size_t task;
    std::vector<std::size_t> units;
    std::size_t processor;
    Time dispatched;
    std::optional<Time> start;
    Time end;
    std::string status;
    std::vector<SeenFc> fcs{};

    bool has(std::size_t unit) const { return std::ranges::find(units, unit) != units.end(); }
};

struct SeenTask {
    std::optional<Time> dispatched;
    std::optional<Time> end;
    std::string status; ///< "" for null
    std::size_t retries;
};

using Interval = std::pair<Time, Time>;

struct Seen {
    Seen(const nlohmann::json& file, const nlohmann::json& timeline);

    /// Whether the processor is in use for the looks of this instant.
    bool in_use(std::size_t processor, Time at) const;
    bool high(const SeenRun& run) const { return scenario.tasks[run.task].priority == 255; }

    Scenario scenario;
    std::vector<SeenRun> runs; ///< in order of dispatch
    std::vector<SeenTask> tasks;
    /// For each processor: from each failure until the trial that brings it back.
    std::vector<std::vector<Interval>> outages;

private:
    std::vector<Interval> outages_of(std::size_t processor) const;
};

std::optional<Time> time_or_none(const nlohmann::json& value);

} // namespace overtake::test::processors
