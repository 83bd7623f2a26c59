// SPDX-License-Identifier: MIT
//
// Blame: why each job and task took as long as it did, from the events of a device.
//
// The events may come from anywhere (overtake/event.hpp), in order of time. When a job or task is
// over, a Report says where the time from its arrival to its end went: its parts add up to it,
// exactly. Memory is that of live jobs and tasks, and a little for each client and model ever seen;
// Options bounds both.
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

/// The facts of a task beyond its events.
struct Plan {
    /// As its scheduler has them; they outlive the task. Empty: its events say which are CPU
    /// segments, and earlier tasks of its model after which it gives its slot up.
    std::span<const ovt_sched_segment> segments{};
    std::uint64_t deadline = 0; ///< for policies that look at it
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
    std::uint64_t task = 0; ///< of a job: tag of its task; 0: it has none
    /// Events of it, or around it, are known to be missing: the parts add up, but may be wrong.
    /// One whose parts do not add up is not reported.
    bool incomplete = false;
    std::vector<Part> parts; ///< none is 0

    std::uint64_t latency_ns() const { return end_ns - arrival_ns; }
};

class Blame {
public:
    struct Options {
        Rules rules{};
        /// Of an event task_arrive; by default, nothing is known.
        std::function<Plan(const Event&)> plan = {};
        /// Live jobs, and as many live tasks: the oldest are dropped to make room.
        std::size_t most_live = SIZE_MAX;
        /// Pairs of client and model that blame names as culprits; each later pair is Who{}.
        std::size_t most_owners = SIZE_MAX;
    };

    /// `report` is called for each job and task as it ends, but for tasks of an engine whose events
    /// contradict each other. A job that belongs to a task whose
    /// events come is part of it and not reported, unless `every_job`.
    explicit Blame(Options options, std::function<void(const Report&)> report,
                   bool every_job = false);
    ~Blame();
    Blame(const Blame&) = delete;
    Blame& operator=(const Blame&) = delete;

    /// Throws std::logic_error if parts do not add up, and Error (EINVAL) if time runs backwards.
    void add(const Event& event);
    /// Events were lost here: whatever lives now is incomplete, or tasks of engines alone are.
    void lost(bool of_engines_alone = false);
    /// Returns the processes of the live jobs and tasks.
    std::vector<std::uint32_t> processes() const;
    /// These processes are gone, and so are their jobs and tasks, whose ends were lost.
    void forget(const std::set<std::uint32_t>& pids);
    /// Jobs and tasks that were dropped to make room for others.
    std::uint64_t dropped() const;
    /// How often a culprit was not told apart from others, since there were too many.
    std::uint64_t unknown_owners() const;
    /// Whether any task_* event came. If not, what jobs waited for before they were queued is
    /// unknown.
    bool tasks_recorded() const;
    /// Jobs and tasks that are kept.
    std::size_t live() const;
    /// What all events cost so far: tree nodes and lines looked at.
    std::uint64_t steps() const;

private:
    class State;
    std::unique_ptr<State> state_;
};

} // namespace overtake::blame
