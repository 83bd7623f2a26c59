// SPDX-License-Identifier: MIT
//
// Task-level scenarios and timelines, in microseconds, as data.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "scenario.hpp"

namespace overtake::test {

/// A segment on the BPU or on the CPU.
struct TaskSegment {
    std::vector<std::uint64_t> bpu;          ///< durations of its FCs; empty for a CPU segment
    std::uint64_t cpu = 0;                   ///< 0 for a BPU segment
    std::optional<std::uint64_t> estimate{}; ///< of a CPU segment; none: its `cpu`

    std::uint64_t estimated_cpu() const { return estimate.value_or(cpu); }
    bool is_bpu() const { return !bpu.empty(); }
    std::uint64_t bpu_time() const;
};

struct ScenarioTask {
    std::string id;
    std::uint64_t at = 0;
    std::string process;
    unsigned core = 0; ///< 0 = any
    unsigned priority = 0;
    std::int64_t custom_id = 0;
    std::optional<std::uint64_t> slo;  ///< from its arrival to its deadline
    std::vector<TaskSegment> segments; ///< segments of all its models, one chain

    std::uint64_t bpu_time() const;
    std::uint64_t deadline() const; ///< without an SLO the largest number
};

struct TaskCancel {
    std::size_t task; ///< index
    std::uint64_t at;
};

struct ProcessDeath {
    std::string process;
    std::uint64_t at;
};

struct TaskScenario {
    std::vector<unsigned> core_limits; ///< one per core
    std::vector<ScenarioLimit> limits; ///< in file order
    bool fair = false;
    bool service_mode = false;
    std::string policy = "priority";
    std::size_t slots = 1;
    std::uint64_t threshold_percent = 10;
    std::uint64_t insert_max_time_ms = 1000;
    std::uint64_t wait_dispatch_time_ms = 20;
    std::size_t max_tasks = 8;
    std::size_t max_threads = 4;
    std::map<std::string, std::size_t> workers;    ///< by process, instead of max_threads
    std::optional<std::uint64_t> overdue_min_time; ///< none: no task is overdue
    std::uint64_t overdue_factor = 4;
    bool share = false;
    std::vector<ScenarioTask> tasks; ///< in file order
    std::vector<TaskCancel> cancels;
    std::vector<ProcessDeath> deaths;
};

struct TimelineCpu {
    std::string task;
    std::size_t segment;
    std::uint64_t start;
    std::uint64_t end;
    bool operator==(const TimelineCpu&) const = default;
};

struct TimelineTask {
    std::string id;
    unsigned core; ///< 0: the task named no core and never reached the BPU
    std::uint64_t arrival;
    std::optional<std::uint64_t> dispatched;
    std::optional<std::uint64_t> end;
    bool cancelled;
    bool operator==(const TimelineTask&) const = default;
};

struct TaskTimeline {
    Timeline device;
    std::vector<TimelineCpu> cpu;    ///< by start, then file order of the tasks
    std::vector<TimelineTask> tasks; ///< in file order
    bool operator==(const TaskTimeline&) const = default;
};

/// The next functions throw std::runtime_error or a JSON error for a file of another kind.
TaskScenario task_scenario_from(const nlohmann::json& from);
TaskTimeline task_timeline_from(const nlohmann::json& from);
TaskScenario read_task_scenario(const std::string& path);
TaskTimeline read_task_timeline(const std::string& path);

/// Whether every task has ended before 10^12 us, so that a device's clock, which counts
/// nanoseconds, can show the timeline. Some examples are for virtual time alone.
bool fits_a_clock(const TaskTimeline& timeline);

/// Writes one entry on a line.
std::ostream& operator<<(std::ostream& out, const TimelineCpu& cpu);
std::ostream& operator<<(std::ostream& out, const TimelineTask& task);
std::ostream& operator<<(std::ostream& out, const TaskTimeline& timeline);

} // namespace overtake::test
