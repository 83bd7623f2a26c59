// SPDX-License-Identifier: MIT
//
// FC-level scenarios and timelines, in microseconds, as data.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

struct ScenarioJob {
    std::string id;
    std::uint64_t at = 0;
    unsigned core = 0; ///< 0 = any
    unsigned priority = 0;
    std::int64_t custom_id = 0;
    std::string context;
    std::vector<std::uint64_t> fcs; ///< durations
};

struct ScenarioCancel {
    std::size_t job; ///< index
    std::uint64_t at;
};

struct ScenarioLimit {
    std::uint64_t at;
    unsigned core; ///< from 1
    unsigned limit;
};

struct Scenario {
    unsigned cores = 1;
    std::vector<unsigned> core_limits; ///< one per core
    std::vector<ScenarioLimit> limits; ///< in file order
    bool fair = false;
    std::vector<ScenarioJob> jobs; ///< in file order
    std::vector<ScenarioCancel> cancels;

    /// Returns an instant at which all jobs are over, in any order of their FCs.
    std::uint64_t over() const;
};

struct TimelineFc {
    std::string job;
    unsigned index;
    unsigned core;
    bool high;
    std::uint64_t start;
    std::uint64_t end;
    bool operator==(const TimelineFc&) const = default;
};

struct TimelineJob {
    std::string id;
    unsigned core;
    std::uint64_t arrival;
    std::optional<std::uint64_t> start;
    std::uint64_t end;
    unsigned preemptions;
    bool cancelled;
    bool operator==(const TimelineJob&) const = default;
};

struct Timeline {
    std::vector<TimelineFc> fcs;   ///< by start, then core
    std::vector<TimelineJob> jobs; ///< in arrival order
    bool operator==(const Timeline&) const = default;

    void sort_fcs();
};

/// The next functions throw std::runtime_error or a JSON error for a file of another kind.
nlohmann::json read_json(const std::string& path);
Scenario scenario_from(const nlohmann::json& from);
Timeline timeline_from(const nlohmann::json& from);
/// Throws for a scenario of either kind that has extensions that change its times: the reference
/// has no such extension.
void refuse_drawn_times(const nlohmann::json& from);
/// Returns a limit for each core; a scenario of either kind gives a number or a list.
std::vector<unsigned> core_limits_from(const nlohmann::json& from);
/// Returns the changes of limits, in file order.
std::vector<ScenarioLimit> limits_from(const nlohmann::json& from);
Scenario read_scenario(const std::string& path);
Timeline read_timeline(const std::string& path);

/// Writes JSON that can be kept as a scenario file, for messages of failing tests.
std::ostream& operator<<(std::ostream& out, const Scenario& scenario);
std::ostream& operator<<(std::ostream& out, const TimelineFc& fc);
std::ostream& operator<<(std::ostream& out, const TimelineJob& job);
std::ostream& operator<<(std::ostream& out, const Timeline& timeline);

/// Returns the indices of the jobs in arrival order: by time, then file order.
std::vector<std::size_t> arrival_order(const Scenario& scenario);

} // namespace overtake::test
