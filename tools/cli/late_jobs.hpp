// SPDX-License-Identifier: MIT
//
// LateJobs: the slowest jobs and tasks of each owner on a watched device, and why they were slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "observe/blame/blame.hpp"
#include "observe/blame/worst.hpp"
#include "observe/watch/in_order.hpp"

namespace overtake::command {

/// Memory is bounded, whatever other users do: entries beyond a bound are dropped, the oldest
/// first, and counted.
class LateJobs {
public:
    static constexpr std::size_t most_live = 1u << 17;    ///< live jobs, and as many live tasks
    static constexpr std::size_t most_owners = 1u << 14;  ///< owners that blame names as culprits
    static constexpr std::size_t most_groups = 1u << 12;  ///< owners of which slow jobs are kept
    static constexpr std::size_t most_reports = 1u << 16; ///< reports of more than one owner
    /// The longest parts of a report; others are joined by cause.
    static constexpr std::size_t most_parts = 64;

    /// Keeps the `most` slowest of each owner, a model of a process.
    explicit LateJobs(std::size_t most);
    LateJobs(const LateJobs&) = delete;
    LateJobs& operator=(const LateJobs&) = delete;

    void add(const Event& event) { in_order_.add(event); }
    /// Sets how many events were lost so far, and how many of these were of engines. Live jobs and
    /// tasks are then reported with a warning.
    void lost(std::uint64_t count, std::uint64_t of_engines);
    /// Returns the processes of the live jobs and tasks.
    std::vector<std::uint32_t> processes() const { return blame_.processes(); }
    /// Forgets processes that ended long enough ago that no more of their events come.
    void forget(const std::set<std::uint32_t>& pids);
    /// Returns how many live jobs and tasks, and owners of slow ones, were dropped to make room for
    /// others.
    std::uint64_t dropped() const { return blame_.dropped() + dropped_; }
    /// Handles the remaining events: no more come.
    void finish() { in_order_.finish(); }

    /// Returns a sentence for each kept job and task.
    std::vector<std::string> lines() const;
    nlohmann::ordered_json to_json() const;
    bool tasks_recorded() const { return blame_.tasks_recorded(); }

private:
    void keep(const blame::Report& all);

    struct Owner {
        std::uint64_t group = 0; ///< its group in worst_
        std::uint64_t last = 0;  ///< number of its last report
    };

    void drop_oldest_owners();

    std::map<std::string, Owner> owners_; ///< by name
    std::uint64_t reports_ = 0;
    std::uint64_t dropped_ = 0;
    std::uint64_t lost_ = 0;
    std::uint64_t lost_of_engines_ = 0;
    blame::Worst worst_;
    blame::Blame blame_;
    watch::InOrder in_order_;
};

} // namespace overtake::command
