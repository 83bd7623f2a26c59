// SPDX-License-Identifier: MIT
//
// Scenarios with several processors, read for the oracle. The scenarios must be valid: the reader
// refuses none.
// All times are microseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test::processors {

using Time = std::int64_t;

/// The next two functions return a / b, rounded up or to the nearest; a is at least 0 and b at
/// least 1.
Time ceil_div(Time a, Time b);
Time half_up(__int128 a, __int128 b);

/// A core, or a pool of workers.
struct Processor {
    std::string name;
    std::string entry;
    std::string class_name;
    bool pool = false;
    std::size_t workers = 1;  ///< 1 for a core
    unsigned core_number = 0; ///< from 1; 0 for a pool
    std::size_t core_limit = 0;
    std::size_t depth = 1;
    Time overhead = 0;
};

struct Unit {
    /// For each class: the FCs for cores, one number for pools.
    std::map<std::string, std::vector<Time>> time;
    std::vector<std::size_t> predecessors;
    std::vector<std::size_t> successors;
    Time bytes = 0;
    Time ops = 0;
};

struct Model {
    std::vector<Unit> units;
    std::vector<std::vector<std::size_t>> chains; ///< by their first units
    std::map<std::string, Time> measured;         ///< by class
    Time input = 0;
};

struct Task {
    std::string id;
    Time at = 0;
    std::string model;
    unsigned priority = 0;
    std::int64_t custom_id = 0;
    std::optional<std::string> on; ///< under policy `fixed`, the map's entry if the task has none
    std::optional<Time> deadline;
};

struct Event {
    enum class Kind { fail, recover, throttle };
    Time at = 0;
    std::size_t processor = 0;
    Kind kind = Kind::fail;
    Time factor = 100;
};

struct Cancel {
    Time at = 0;
    std::size_t task = 0;
};

enum class Policy {
    priority,
    fixed,
    round_robin,
    shortest_latency,
    heft,
    heft_reserved,
    least_slack
};
enum class Drop { never, late, predicted };

struct Scenario {
    Policy policy = Policy::priority;
    Drop drop = Drop::never;
    std::size_t window = 8;
    Time smoothing = 10;
    Time retry_after = 100000;
    std::vector<Processor> processors;
    std::map<std::pair<std::string, std::string>, Time> rates; ///< in both directions
    std::map<std::string, Model> models;
    std::vector<Task> tasks;
    std::vector<Event> events;
    std::vector<Cancel> cancels;

    const Model& model_of(const Task& task) const { return models.at(task.model); }
    /// Whether the processor, in use or not, may run this unit of the task.
    bool can_run(const Task& task, std::size_t unit, std::size_t processor) const;
    /// Returns the time to move the output of a unit.
    Time move(const Unit& unit, std::size_t from, std::size_t to) const;
    /// Returns the tasks in order of arrival.
    std::vector<std::size_t> arrival_order() const;
};

Scenario scenario_from(const nlohmann::json& file);

} // namespace overtake::test::processors
