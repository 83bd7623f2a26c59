// SPDX-License-Identifier: MIT
//
// Summary: the results of a run, as numbers, text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulator/accounts.hpp"

namespace overtake::simulator {

/// Nearest-rank percentiles. Times of a summary are in the scenario's unit.
struct Percentiles {
    std::uint64_t p50 = 0;
    std::uint64_t p90 = 0;
    std::uint64_t p99 = 0;
    std::uint64_t p99_9 = 0;
    std::uint64_t max = 0;
    double mean = 0;
    bool exact = true;
    std::uint64_t samples = 0; ///< latencies

    /// Returns whether fewer than 10 latencies are at or above this percentile: one more may move
    /// it far.
    bool rests_on_few(double percent) const;
};

struct ClassSummary {
    std::string name;
    std::uint64_t tick_ns = 1000; ///< the scenario's unit of time
    std::uint64_t tasks = 0;      ///< ended or dropped
    std::uint64_t cancelled = 0;
    std::uint64_t dropped = 0;
    std::uint64_t preemptions = 0;
    Percentiles latency;              ///< of tasks neither cancelled nor dropped
    std::optional<std::uint64_t> slo; ///< of the class's first task that has one
    /// Share of the tasks with an SLO; dropped and cancelled ones count as missed.
    std::optional<double> slo_met;
    std::uint64_t slo_missed = 0;
    /// Completed tasks per second of the run; none if the run took no time.
    std::optional<double> throughput;
    double turnaround = 0; ///< latency / latency alone; 0: no task completed
    // Sums over all tasks that have ended; they add up to latency_sum.
    std::uint64_t latency_sum = 0;
    std::uint64_t queued = 0;
    std::uint64_t worker = 0;
    std::uint64_t cpu = 0;
    std::uint64_t running = 0;
    std::vector<std::uint64_t> blocked_by;   ///< by class
    std::vector<std::uint64_t> preempted_by; ///< by class
    std::uint64_t over = 0;                  ///< tasks in these sums
    /// Tasks that ended as failed, in scenarios of several processors; their summary has no such
    /// sums.
    std::optional<std::uint64_t> failed;

    /// Returns whether any task completed; without one there is no latency.
    bool any_completed() const { return tasks > dropped + cancelled + failed.value_or(0); }
};

struct PrioritySummary {
    unsigned priority;
    std::uint64_t tasks;
    Percentiles latency;
};

struct CoreSummary {
    double utilisation; ///< share of the run in which an FC ran
    std::uint64_t fcs_high;
    std::uint64_t fcs_normal;
    std::uint64_t gap;        ///< time while a task kept a slot during a CPU segment
    std::uint64_t gap_filled; ///< the part of `gap` in which the core ran an FC
    std::string name{};       ///< of one of several processors
};

struct Summary {
    std::uint64_t tick_ns = 1000; ///< the scenario's unit of time
    std::uint64_t from;           ///< the first arrival, or later by the warm-up
    std::uint64_t to;             ///< the last end, or earlier by the drain
    std::uint64_t fcs;
    double antt; ///< average normalised turnaround time, over classes
    double stp;  ///< system throughput: the sum over classes of 1 / normalised turnaround time
    std::vector<ClassSummary> classes;
    std::vector<PrioritySummary> priorities;
    std::vector<CoreSummary> cores;
};

/// Returns the summary. Throws std::logic_error if the parts do not add up.
Summary summarise(const Scenario& scenario, const Accounts& accounts);

std::string to_text(const Summary& summary);
nlohmann::ordered_json to_json(const Summary& summary);

/// Returns a share in percent, rounded down: only all tasks are 100.0%.
std::string format_share(double share);

/// Returns a percentile of latencies, marked with ~ if it rests on few latencies.
std::string format_percentile(double us, bool rests_on_few);

/// Converts a time from ticks to us.
constexpr double in_us(std::uint64_t ticks, std::uint64_t tick_ns) {
    return tick_ns == 1000 ? static_cast<double>(ticks)
                           : static_cast<double>(ticks) * static_cast<double>(tick_ns) / 1e3;
}

/// Formats a time given in microseconds in a fitting unit, e.g. "2.97 ms".
std::string format_time(double us);

} // namespace overtake::simulator
