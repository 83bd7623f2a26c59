// SPDX-License-Identifier: MIT
//
// Cores, rings and batches as the contract describes them ("The core" and "Fair" of
// docs/reference/scenarios.md), as plainly as possible, for the oracles of both levels. It shares
// no code with the device. Within one instant the caller calls these functions in the order that
// the contract prescribes for its level. All times are microseconds.
#pragma once

#include <deque>

#include "scenario.hpp"

namespace overtake::test {

class ReferenceDevice {
public:
    /// `core_limits` has one limit for each core.
    ReferenceDevice(std::vector<unsigned> core_limits, bool fair);

    /// Jobs are numbered from 0 in the order in which they arrive. For core 0, submit() chooses the
    /// core.
    std::size_t submit(std::uint64_t now, std::string id, unsigned core, unsigned priority,
                       const std::string& context, std::vector<std::uint64_t> fcs);
    /// Removes the FCs that have not started. Does nothing to a job that is over or cancelled.
    void cancel(std::uint64_t now, std::size_t job);
    /// Sets a limit, which takes effect when all committed FCs have run.
    void set_limit(unsigned core, unsigned limit) { core_limits_[core - 1] = limit; }
    /// Returns the next time at which a running FC ends.
    std::optional<std::uint64_t> next_end() const;
    /// Returns the jobs of which an FC ends at this instant, lowest core first.
    std::vector<std::size_t> ending(std::uint64_t now) const;
    /// Ends the running FC of this job.
    void end_fc(std::uint64_t now, std::size_t job);
    /// The idle cores choose, lowest core first.
    void choose(std::uint64_t now);

    bool over(std::size_t job) const { return jobs_[job].over; }
    unsigned core_of(std::size_t job) const { return jobs_[job].core; }
    /// Returns the number of FCs of the core that are running, committed or in a ring.
    std::size_t unfinished(unsigned core) const;
    /// Returns all jobs, and all FCs that have started.
    Timeline timeline() const;

private:
    struct Fc {
        std::size_t job;
        unsigned index;
    };
    struct Core {
        std::deque<Fc> high;
        std::deque<Fc> normal;
        std::deque<Fc> committed;
        std::vector<std::string> circle; ///< fair: contexts with FCs in `normal`, the turn first
        std::optional<unsigned> left_of_turn; ///< FCs left of the first turn; none: not begun
        unsigned limit_in_force = 0;
        std::optional<Fc> running;
        std::uint64_t running_until = 0;
    };
    struct Job {
        std::string id;
        std::vector<std::uint64_t> fcs;
        unsigned priority;
        std::string context;
        unsigned core; ///< from 1
        std::uint64_t arrival;
        std::optional<std::uint64_t> start{};
        std::uint64_t end = 0;
        unsigned ended_fcs = 0;
        bool over = false;
        bool cancelled = false;
    };

    unsigned emptiest_core() const;
    bool runs(std::size_t job) const;
    void finish(std::uint64_t now, Job& job);
    std::deque<Fc>* next_list(Core& core, unsigned limit);
    std::deque<Fc>* next_list_fair(Core& core, unsigned limit);
    std::deque<Fc>::iterator first_of(Core& core, const std::string& context);
    void take_by_turn(Core& core);
    void leave_circle_without_fcs(Core& core);
    void start(std::uint64_t now, unsigned core_number, const Fc& fc);
    unsigned preemptions(const Job& job) const;

    std::vector<unsigned> core_limits_;
    bool fair_;
    std::vector<Core> cores_;
    std::vector<Job> jobs_;
    std::vector<TimelineFc> fcs_;
};

} // namespace overtake::test
