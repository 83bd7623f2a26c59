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

    /// The latencies from this percentile on are fewer than 10: one more may move it far.
    bool rests_on_few(double percent) const;
};

struct ClassSummary {
    std::string name;
    std::uint64_t tick_ns = 1000; ///< the scenario's unit
    std::uint64_t tasks = 0;      ///< over or dropped
    std::uint64_t cancelled = 0;
    std::uint64_t dropped = 0;
    std::uint64_t preemptions = 0;
    Percentiles latency;              ///< of those neither cancelled nor dropped
    std::optional<std::uint64_t> slo; ///< of the class's first task that has one
    std::optional<double> slo_met;    ///< share; dropped and cancelled ones are missed
    std::uint64_t slo_missed = 0;
    std::optional<double> throughput; ///< completed per second of the run, if that lasted
    double turnaround = 0;            ///< latency / latency alone; 0: no task completed
    // Sums over all tasks that are over; they add up to latency_sum.
    std::uint64_t latency_sum = 0;
    std::uint64_t queued = 0;
    std::uint64_t worker = 0;
    std::uint64_t cpu = 0;
    std::uint64_t running = 0;
    std::vector<std::uint64_t> blocked_by;   ///< by class
    std::vector<std::uint64_t> preempted_by; ///< by class
    std::uint64_t over = 0;                  ///< tasks in these sums
    /// Several processors, whose summary has no such sums: tasks that ended as failed.
    std::optional<std::uint64_t> failed;

    /// Without one there is no latency.
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
    std::uint64_t gap;        ///< while a task kept a slot during a CPU segment
    std::uint64_t gap_filled; ///< of it in which the core ran something
    std::string name{};       ///< of one of several processors
};

struct Summary {
    std::uint64_t tick_ns = 1000; ///< the scenario's unit
    std::uint64_t from;           ///< first arrival, or later by the warm-up
    std::uint64_t to;             ///< last end, or earlier by the drain
    std::uint64_t fcs;
    double antt; ///< average normalised turnaround time, over classes
    double stp;  ///< system throughput: the sum of the inverse
    std::vector<ClassSummary> classes;
    std::vector<PrioritySummary> priorities;
    std::vector<CoreSummary> cores;
};

/// Throws std::logic_error if the parts do not add up.
Summary summarise(const Scenario& scenario, const Accounts& accounts);

std::string to_text(const Summary& summary);
nlohmann::ordered_json to_json(const Summary& summary);

/// Returns a share in percent, rounded down: 100.0% are all.
std::string format_share(double share);

/// Returns a latency of that percentile, marked with ~ if it is that of few samples.
std::string format_percentile(double us, bool rests_on_few);

/// Returns a time in ticks in us.
constexpr double in_us(std::uint64_t ticks, std::uint64_t tick_ns) {
    return tick_ns == 1000 ? static_cast<double>(ticks)
                           : static_cast<double>(ticks) * static_cast<double>(tick_ns) / 1e3;
}

/// Returns a time given in microseconds in a fitting unit, e.g. "2.97 ms".
std::string format_time(double us);

} // namespace overtake::simulator
