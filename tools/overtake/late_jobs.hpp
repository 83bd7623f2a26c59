// SPDX-License-Identifier: MIT
//
// LateJobs: the slowest jobs and tasks of each owner on a device that is watched, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "blame/blame.hpp"
#include "blame/worst.hpp"
#include "watch/in_order.hpp"

namespace overtake::command {

class LateJobs {
public:
    /// `most`: of each owner, a model of a process.
    explicit LateJobs(std::size_t most);
    LateJobs(const LateJobs&) = delete;
    LateJobs& operator=(const LateJobs&) = delete;

    void add(const Event& event) { in_order_.add(event); }
    /// So many events were lost by now, and so many of them of engines: what lives is told with a
    /// caution.
    void lost(std::uint64_t count, std::uint64_t of_engines);
    /// No more events come.
    void finish() { in_order_.finish(); }

    /// A sentence each.
    std::vector<std::string> lines() const;
    nlohmann::ordered_json to_json() const;
    bool tasks_recorded() const { return blame_.tasks_recorded(); }

private:
    void keep(const blame::Report& report);

    std::map<std::string, std::uint64_t> owners_; ///< by name, a number
    std::uint64_t lost_ = 0;
    std::uint64_t lost_of_engines_ = 0;
    blame::Worst worst_;
    blame::Blame blame_;
    watch::InOrder in_order_;
};

} // namespace overtake::command
