// SPDX-License-Identifier: MIT
//
// Simulator: the host of the shipped firmware and the shipped task scheduler under virtual time.
//
// The simulator decides nothing. It passes arrivals, cancels and the ends of CPU segments to the
// schedulers in the order of time (and, within an instant, in the contract's order), performs their
// actions, and notifies observers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/scenario.hpp"

namespace overtake::simulator {

/// The place of a task at a moment.
enum class TaskPhase : std::uint8_t { queued, ready, worker, cpu, device, running };

/// The times that a task has spent in each place so far; Accounts keeps them.
struct TaskAccount {
    std::uint64_t since; ///< the beginning of the present phase
    TaskPhase phase;
    std::uint8_t job_running;  ///< an FC of the present job has started
    std::uint32_t fcs_running; ///< number of a group's parts that run an FC
    std::uint32_t gap_core;    ///< the core on which the task keeps a slot during a gap; 0: none
    std::uint64_t queued;
    std::uint64_t worker;
    std::uint64_t blocked;
    std::uint64_t preempted;
    std::uint64_t cpu;
    std::uint64_t running;
};

/// The additional state of a task that takes several cores, or has groups.
struct WideTask {
    ovt_fw_group group;
    ovt_sched_span span;
    std::vector<ovt_sched_gap> gaps; ///< of `span`
    /// At task level: the cores of its parts, once they are settled.
    std::vector<std::uint32_t> cores;
    std::vector<ovt_fw_part> parts; ///< of the group; empty if the segment has none
};

/// A task between its arrival and its end. At FC level, it is only a job.
struct LiveTask {
    ovt_sched_task sched;
    ovt_fw_job job;                 ///< the job of its current BPU segment
    std::unique_ptr<WideTask> wide; ///< null in most tasks, of which there may be many
    std::uint32_t fc_part;          ///< the part of the FC that observers are notified of
    std::uint32_t fc_stage;
    const TaskKind* kind;
    /// Number of the listed arrival, or among the loads' tasks, from 0.
    std::uint64_t number;
    /// For a listed task, the same; otherwise, number among its load's tasks.
    std::uint64_t number_of_source;
    std::uint32_t load;   ///< index of the load; not_a_load for listed tasks
    std::uint32_t slot;   ///< small and unique among the live tasks; used again
    std::uint64_t serial; ///< unique; 0: the task is not live
    std::uint64_t arrival;
    std::uint64_t preemptions; ///< of all its jobs
    bool cancelled;
    LiveTask* earlier; ///< neighbour among the load's tasks that may still time out
    LiveTask* later;
    TaskAccount account;
    std::uint64_t record; ///< for observers
    std::uint64_t segment_record;

    /// Returns the parts of the group; empty if the segment has none.
    std::span<const ovt_fw_part> parts() const {
        return wide ? std::span<const ovt_fw_part>(wide->parts) : std::span<const ovt_fw_part>();
    }

    static constexpr std::uint32_t not_a_load = ~0u;
};

/// Observes a run in order of time. Every function may be left out. `time` is the time of the call.
class Observer {
public:
    virtual ~Observer() = default;
    virtual void arrived(LiveTask&, std::uint64_t time) { (void)time; }
    virtual void dropped(const Load&, std::uint64_t time) { (void)time; }
    /// The task leaves its library queue, for a core or for the queue of CPU workers.
    virtual void dispatched(LiveTask&, std::uint64_t time) { (void)time; }
    virtual void ready(LiveTask&, std::uint64_t time) { (void)time; }
    virtual void cpu_waiting(LiveTask&, std::uint64_t time) { (void)time; }
    virtual void cpu_started(LiveTask&, std::uint32_t segment, std::uint64_t time,
                             std::uint64_t end) {
        (void)segment, (void)time, (void)end;
    }
    virtual void cpu_ended(LiveTask&, std::uint64_t time) { (void)time; }
    /// A BPU segment enters a core.
    virtual void submitted(LiveTask&, std::uint32_t segment, std::uint64_t time) {
        (void)segment, (void)time;
    }
    virtual void fc_started(LiveTask&, unsigned core, bool high, std::uint32_t index,
                            std::uint64_t time, std::uint64_t end) {
        (void)core, (void)high, (void)index, (void)time, (void)end;
    }
    virtual void fc_ended(LiveTask&, unsigned core, std::uint64_t time) { (void)core, (void)time; }
    virtual void preempted(LiveTask&, unsigned core, std::uint64_t time) { (void)core, (void)time; }
    virtual void job_ended(LiveTask&, std::uint64_t time) { (void)time; }
    /// A core's limit changes; it takes effect once the committed FCs have run.
    virtual void limit_changed(unsigned core, std::uint32_t before, std::uint32_t limit,
                               std::uint64_t time) {
        (void)core, (void)before, (void)limit, (void)time;
    }
    /// The CPU segment of the task has become overdue: the task gave up the slots that it held.
    virtual void overdue(LiveTask&, std::uint64_t time) { (void)time; }
    /// The process of the task has died; ended() follows.
    virtual void abandoned(LiveTask&, std::uint64_t time) { (void)time; }
    /// The last call for the task.
    virtual void ended(LiveTask&, std::uint64_t time) { (void)time; }
};

class Simulator {
public:
    /// `scenario` and `observers` outlive it. `seed` is the seed of the generated loads.
    Simulator(const Scenario& scenario, std::uint64_t seed, std::span<Observer* const> observers);
    ~Simulator();
    Simulator(const Simulator&) = delete;
    Simulator& operator=(const Simulator&) = delete;

    /// Runs until no event is left. Throws Error ERANGE when virtual time runs out.
    void run();

private:
    class Simulation;
    std::unique_ptr<Simulation> simulation_;
};

} // namespace overtake::simulator
