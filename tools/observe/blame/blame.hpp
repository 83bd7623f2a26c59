// SPDX-License-Identifier: MIT
//
// Blame: the causes of each job's and task's latency, from the events of a device.
//
// The events may come from any source (overtake/event.hpp), in order of time. When a job or task
// ends, a Report divides the time from its arrival to its end among causes. The parts of the report
// add up to that time exactly. Memory holds the live jobs and tasks, and a few bytes for each
// client and model ever seen. Options bounds both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "observe/blame/followed_queue.hpp"
#include "observe/blame/parts.hpp"
#include "overtake/event.hpp"

namespace overtake::blame {

/// The facts about a task that its events do not give.
struct Plan {
    /// The segments as the task's scheduler has them. They outlive the task. Empty: the task's
    /// events show which segments are CPU segments, and earlier tasks of its model show after which
    /// segment a task gives its slot up.
    std::span<const ovt_sched_segment> segments{};
    std::uint64_t deadline = 0; ///< for policies that use a deadline
};

struct Report {
    bool is_task = false;
    Who who;
    std::uint64_t tag = 0;
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t priority = 0;
    std::int64_t custom_id = 0;
    std::uint16_t core = 0; ///< 0: none yet
    std::uint64_t arrival_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint32_t preemptions = 0;
    std::int32_t status = 0;
    std::uint64_t task = 0; ///< for a job: the tag of its task; 0: the job has no task
    /// Whether an event of the job or task, or another one in its time, is known to be missing:
    /// then the parts add up, but may be wrong. A job or task with missing events whose parts do
    /// not add up is not reported.
    bool incomplete = false;
    std::vector<Part> parts; ///< no part is 0

    std::uint64_t latency_ns() const { return end_ns - arrival_ns; }
};

class Blame {
public:
    struct Options {
        Rules rules{};
        /// Returns the plan of the task that an event task_arrive announces; by default, no plan is
        /// known.
        std::function<Plan(const Event&)> plan = {};
        /// The number of live jobs, and of live tasks, that are kept: the oldest are dropped to
        /// make room.
        std::size_t most_live = SIZE_MAX;
        /// Pairs of client and model that blame names as culprits; each later pair is reported as
        /// Who{}.
        std::size_t most_owners = SIZE_MAX;
    };

    /// Calls `report` for each job and task as it ends. If the parts of an engine's task, or of a
    /// job or task with missing events, do not add up, `report` is not called. A job of a live task
    /// is a part of that task and not reported, unless `every_job`.
    explicit Blame(Options options, std::function<void(const Report&)> report,
                   bool every_job = false);
    ~Blame();
    Blame(const Blame&) = delete;
    Blame& operator=(const Blame&) = delete;

    /// Throws std::logic_error if parts do not add up, and Error (EINVAL) if time runs backwards.
    void add(const Event& event);
    /// Events were lost: marks the live jobs and tasks as incomplete, or only the tasks of engines.
    void lost(bool of_engines_alone = false);
    /// Returns the processes of the live jobs and tasks.
    std::vector<std::uint32_t> processes() const;
    /// Forgets the live jobs and tasks of processes that have ended: the events of their ends were
    /// lost.
    void forget(const std::set<std::uint32_t>& pids);
    /// Returns the number of jobs and tasks that were dropped to make room for others.
    std::uint64_t dropped() const;
    /// Returns how often the owner of a job or task became Who{} because there were too many
    /// owners.
    std::uint64_t unknown_owners() const;
    /// Returns whether any event task_* came. If not, the causes of waits before the jobs were
    /// queued are unknown.
    bool tasks_recorded() const;
    /// Returns the number of jobs and tasks that are kept.
    std::size_t live() const;
    /// Returns the work for all events so far: tree nodes and lines that were looked at.
    std::uint64_t steps() const;

private:
    class State;
    std::unique_ptr<State> state_;
};

} // namespace overtake::blame
