// SPDX-License-Identifier: MIT
//
// The state of several processors and their tasks, and the changes of this state except for looks,
// in which the coordinator decides.  The caller calls these functions in the order of one instant.
#pragma once

#include <memory>

#include "processors_cores.hpp"
#include "processors_plan.hpp"
#include "processors_records.hpp"

namespace overtake::test::processors {

enum class Status { done, failed, cancelled, dropped };

struct Run {
    std::size_t task = 0;
    std::size_t number = 0; ///< K of TASK.K
    std::vector<std::size_t> units;
    std::size_t processor = 0;
    Time dispatched = 0;
    Time lead = 0;
    Time expected = 0; ///< lead included
    Time due = 0;
    std::optional<Time> start{};
    Time end = 0;
    std::optional<Status> status{}; ///< none: unfinished
};

/// The reservation for the next piece of the chain, under heft-reserved.
struct Reservation {
    std::size_t processor;
    Time time;
};

struct TaskState {
    bool arrived = false;
    std::optional<Time> dispatched{};
    std::optional<Time> end{};
    std::optional<Status> status{};  ///< of a task that has ended
    std::optional<Status> closing{}; ///< its status after its last run has ended
    std::size_t runs = 0;
    std::size_t retries = 0;
    /// For each unit: its run that is done or unfinished; none if the unit is left.
    std::vector<std::optional<RunNumber>> run_of{};
    std::optional<Reservation> reservation{};
};

class Board {
public:
    explicit Board(const Scenario& scenario);

    // The changes of an instant.
    void forget_ratios(Time now);
    void end_executions(Time now);
    void fail(Time now, std::size_t processor);
    void recover(std::size_t processor) { processors_[processor].works = true; }
    void throttle(std::size_t processor, Time factor) { processors_[processor].factor = factor; }
    void try_failed_processors(Time now);
    void arrive(std::size_t task);
    /// The task is cancelled, dropped or has failed.
    void close(Time now, std::size_t task, Status status);
    void dispatch(Time now, std::size_t task, const std::vector<std::size_t>& units,
                  std::size_t processor);
    void reserve(std::size_t task, std::optional<Reservation> reservation);
    void choose(Time now);
    /// Returns whether, since the last call, a run or a task ended, a task arrived, or a processor
    /// went out of use or came back.
    bool take_changed();

    // The next change that has no cause outside of the board.
    std::optional<Time> next_end() const;
    /// Returns the next trial of a processor that works or will recover.
    std::optional<Time> next_trial(Time now) const;

    // The present state.
    bool in_use(std::size_t processor) const { return processors_[processor].in_use; }
    bool idle(std::size_t processor) const;
    bool waits(std::size_t task) const;
    bool has_unfinished_run(std::size_t task) const;
    bool all_left(std::size_t task) const;
    /// Whether the processor, which is in use, may run this unit of the task.
    bool can_run(std::size_t task, std::size_t unit, std::size_t processor) const;
    Time lead(std::size_t task, std::size_t first_unit, std::size_t processor) const;
    Time expected(std::size_t task, const std::vector<std::size_t>& units,
                  std::size_t processor) const;
    /// Returns the time until each worker of each processor is free for a task of 255, or for one
    /// below it; no workers for a processor out of use.
    std::vector<std::vector<Time>> free_times(Time now, bool high) const;
    /// Returns the time that other tasks have reserved.
    Time reserved_by_others(std::size_t task, std::size_t processor) const;
    Situation situation(Time now, std::size_t task,
                        std::vector<std::vector<Time>> free_times) const;

    const std::vector<Run>& runs() const { return runs_; }
    const TaskState& task(std::size_t task) const { return tasks_[task]; }
    const std::vector<FcRecord>& fcs() const { return fcs_; }
    bool high(const Run& run) const { return scenario_.tasks[run.task].priority == 255; }

private:
    struct ProcessorState {
        bool works = true;
        bool in_use = true;
        Time factor = 100;
        Time trial = 0;    ///< next trial of a processor that is not in use
        Time interval = 0; ///< time before that trial
        Time idle_since = 0;
        CoreExecutor* core = nullptr; ///< or
        PoolExecutor* pool = nullptr;
        std::unique_ptr<Executor> executor{};
    };

    std::vector<RunNumber> unfinished_on(std::size_t processor) const;
    std::vector<RunNumber> unfinished_of(std::size_t task) const;
    void end_run(Time now, RunNumber run, Status status);
    void run_is_over(Time now, RunNumber run);
    void end_task(Time now, std::size_t task, Status status);
    void end_task_if_closed(Time now, std::size_t task);
    bool finished(std::size_t task, std::size_t unit) const;
    std::vector<Time> file_times(const Run& run) const;
    Time free_time_of_core(Time now, std::size_t processor, bool high) const;
    std::vector<Time> free_times_of_pool(Time now, std::size_t processor, bool high) const;

    const Scenario& scenario_;
    Records records_;
    std::vector<ProcessorState> processors_;
    std::vector<TaskState> tasks_;
    std::vector<Run> runs_; ///< in order of dispatch
    std::vector<FcRecord> fcs_;
    bool changed_ = false;
};

} // namespace overtake::test::processors
