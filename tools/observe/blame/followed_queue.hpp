// SPDX-License-Identifier: MIT
//
// FollowedQueue: a queue of tasks as its events show it, and the cause of each task's wait.
//
// The shipped task scheduler gives the reason. FollowedQueue feeds the events to a scheduler of its
// own (sched/follow.h) and asks it what a task waits for (sched/waits_for.h). In a group of tasks
// that wait beside each other, all but the first have the same answer. So the cost of an event
// grows with the number of groups, not with the number of tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "observe/blame/meter.hpp"
#include "observe/blame/parts.hpp"
#include "observe/blame/scheduler.hpp"

namespace overtake::blame {

/// The facts about the scheduler that are known beforehand. Events override them.
struct Rules {
    std::uint32_t cores = 1;                        ///< the least number of cores
    std::uint32_t most_cores = OVT_SCHED_MAX_CORES; ///< jobs on higher cores hold no slot
    std::uint64_t time_unit_ns = 1; ///< the unit of times in `settings` and of segments
    bool one_queue = false;         ///< service mode: all clients of a device share one queue
    ovt_sched_settings settings = settings_without_plans();
};

/// A task of a queue, as the queue's scheduler has it. The queue sets the fields that Tasks does
/// not set.
struct QueuedTask : ovt_sched_task {
    QueuedTask() : ovt_sched_task{} {}
    QueuedTask(const QueuedTask&) = delete; // trees link it
    QueuedTask& operator=(const QueuedTask&) = delete;

    std::uint32_t owner = 0;
    std::uint64_t client = 0;
    /// Cores that may take a task that asks for no core, one bit each; 0: all.
    std::uint64_t cores = 0;
    std::uint32_t width = 1; ///< number of cores that the task takes at once

    const ovt_tree* among = nullptr; ///< the group in which the task waits; null: it does not wait
    bool first = false;              ///< whether the task is the first of its group
    Meter::Snapshot snapshot;        ///< the group's meter when the task joined or `first` changed
    std::uint64_t joined = 0;        ///< when the task began to wait
    std::uint64_t waited = 0;        ///< the time since `joined` that is already in `parts`
    Parts parts;                     ///< the task's time so far, by cause
    /// The task's number among the tasks that count for the limit; 0: it does not count.
    std::uint64_t place = 0;
    std::uint64_t slot = 0;   ///< the task's number among the holders of slots; 0: it holds none
    ovt_sched_span several{}; ///< the cores of a task whose width is above 1
    std::vector<ovt_sched_gap> gaps;

    bool waits() const { return among != nullptr; }
};

class FollowedQueue {
public:
    FollowedQueue(const Rules& rules, std::uint32_t cores);
    ~FollowedQueue();
    FollowedQueue(const FollowedQueue&) = delete;
    FollowedQueue& operator=(const FollowedQueue&) = delete;

    /// Sets the rules that an arriving task reports.
    void set_rules(std::uint32_t slots, std::uint32_t task_limit, bool share);
    void see_core(std::uint32_t core);
    std::uint64_t steps() const { return steps_; }

    /// Adds a task, with the fields set that its host sets (sched/sched.h). The task stays where it
    /// is in memory until end().
    void arrive(QueuedTask& task, std::uint64_t time);
    /// The functions below may be called in any order: events may be missing.
    void dispatch(QueuedTask& task, std::uint64_t time);
    /// The task no longer waits in the queue and is not in a CPU segment; its parts get its wait.
    void leave(QueuedTask& task, std::uint64_t time);
    void ready(QueuedTask& task, std::uint32_t core, std::uint64_t time);
    /// `cores` has a bit for each core that the task has; 0: the task has `core` alone.
    void job(QueuedTask& task, std::uint32_t core, std::uint64_t cores, std::uint64_t time);
    /// The task is in CPU segment `segment`, which runs or waits for a worker.
    void cpu(QueuedTask& task, std::uint32_t segment, bool runs, std::uint64_t time);
    void give_slot(QueuedTask& task, std::uint64_t time);
    void overdue(QueuedTask& task, std::uint64_t time);
    void end(QueuedTask& task, std::uint64_t time);

private:
    /// Tasks that wait beside each other, sorted in a tree of the scheduler.
    struct Group {
        std::size_t size = 0;
        Meter first; ///< why the first task waits, by part_key()
        Meter others;
        std::uint32_t first_key = part_key(Cause::host);
        std::uint32_t others_key = part_key(Cause::host);
        std::uint64_t since = 0; ///< the meters have the group's time up to this moment

        void count(std::uint64_t time);
    };
    struct Process {
        ovt_sched_process sched{};
        std::vector<ovt_sched_line> lines;
        std::size_t tasks = 0;
    };

    std::uint64_t now(std::uint64_t time) const { return time / rules_.time_unit_ns; }
    ovt_sched_process* process_of(std::uint64_t client);
    void join(QueuedTask& task, std::uint64_t time);
    void stop_waiting(QueuedTask& task, std::uint64_t time);
    static void collect(const Group& group, QueuedTask& task);
    static void look_at_first(const ovt_tree& tree, const Group& group);
    void note_holdings(QueuedTask& task);
    void settle(std::uint64_t time);
    std::uint32_t key_of(const QueuedTask& task, std::uint64_t time);
    std::uint32_t slot_key(const ovt_sched_wait& wait);

    const Rules rules_;
    ovt_sched sched_{};
    ovt_sched_queue queue_{};
    std::vector<ovt_sched_queue_core> cores_;
    std::map<std::uint64_t, Process> processes_; ///< by client; only clients with tasks
    std::map<const ovt_tree*, Group> groups_;    ///< no group is empty
    std::map<std::uint64_t, QueuedTask*> counted_;
    std::map<std::uint64_t, QueuedTask*> holders_;
    std::uint64_t next_ = 1;
    std::uint64_t steps_ = 0;
};

} // namespace overtake::blame
