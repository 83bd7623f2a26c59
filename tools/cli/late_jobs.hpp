// SPDX-License-Identifier: MIT
//
// LateJobs: the slowest jobs and tasks of each owner on a device that is watched, and why.
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

/// Memory is bounded, whatever other users do: what there is too much of goes, the oldest first,
/// and is counted.
class LateJobs {
public:
    static constexpr std::size_t most_live = 1u << 17;    ///< jobs, and as many tasks
    static constexpr std::size_t most_owners = 1u << 14;  ///< that blame names as culprits
    static constexpr std::size_t most_groups = 1u << 12;  ///< owners of the slowest
    static constexpr std::size_t most_reports = 1u << 16; ///< of more than one owner
    static constexpr std::size_t most_parts = 64;         ///< of one; smaller ones are put together

    /// `most`: of each owner, a model of a process.
    explicit LateJobs(std::size_t most);
    LateJobs(const LateJobs&) = delete;
    LateJobs& operator=(const LateJobs&) = delete;

    void add(const Event& event) { in_order_.add(event); }
    /// So many events were lost by now, and so many of them of engines: live jobs and tasks are
    /// reported with a caution.
    void lost(std::uint64_t count, std::uint64_t of_engines);
    /// Processes of the live jobs and tasks.
    std::vector<std::uint32_t> processes() const { return blame_.processes(); }
    /// These processes are gone for long enough that no event of theirs is to come.
    void forget(const std::set<std::uint32_t>& pids);
    /// Live jobs and tasks, and owners of slow ones, that went to make room for others.
    std::uint64_t dropped() const { return blame_.dropped() + dropped_; }
    /// No more events come.
    void finish() { in_order_.finish(); }

    /// A sentence each.
    std::vector<std::string> lines() const;
    nlohmann::ordered_json to_json() const;
    bool tasks_recorded() const { return blame_.tasks_recorded(); }

private:
    void keep(const blame::Report& all);

    struct Owner {
        std::uint64_t group = 0; ///< in worst_
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
