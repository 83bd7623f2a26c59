// SPDX-License-Identifier: MIT
//
// TaskChecker: the rules of the task level, worked out anew at each decision of the scheduler.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <tuple>
#include <vector>

#include "scheduler/case.hpp"

extern "C" {
#include "sched/waits_for.h"
}

namespace overtake::fuzz {

/// A task as its host holds it; like a Job it keeps its own memory to the end of the case.
struct Task {
    ovt_sched_task sched = {}; ///< first: an ovt_sched_task* is a Task*
    std::uint32_t number = 0;
    std::uint32_t process = 0;
    const Model* model = nullptr;
    std::vector<ovt_sched_segment> segments;
    std::uint32_t job = ~0u; ///< number of its job on the device
    bool ended = false;
    ovt_sched_task as_released = {};

    static Task& of(ovt_sched_task* sched) { return *reinterpret_cast<Task*>(sched); }
};

/// The host passes every call of the scheduler and its action, before it carries the action out.
/// Functions throw Violation.
class TaskChecker {
public:
    explicit TaskChecker(const Case& of);

    void arrived(const Task& task);
    /// `action`: null if the scheduler had none.
    void segment_ended(const Task& task, bool ok, std::uint64_t now,
                       const ovt_sched_action* action);
    /// `action`: null at the last call for this process.
    void abandoned(std::uint32_t process, const ovt_sched_action* action);
    void cancelled(const Task& task, const ovt_sched_action* action);
    void next(std::uint64_t now, const ovt_sched_action* action);
    /// The task went to this core, one of the cores among which the last action let the host
    /// choose.
    void placed(const Task& task, std::uint32_t core);
    void finish(const std::deque<ovt_sched_queue>& queues,
                const std::deque<ovt_sched_process>& processes) const;

private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    enum class State { waiting, ready, cpu_waiting, cpu_running, device, ended };

    struct View {
        const Task* task;
        std::uint32_t asked = 0; ///< core, 0: any
        State state = State::waiting;
        std::uint32_t segment = 0;
        std::uint32_t core = 0; ///< of its first BPU segment; 0: not submitted yet
        bool holds = false;
        bool cancelled = false;
        std::uint64_t dispatched = 0; ///< sequence from 1; 0: not
        std::uint64_t cpu_start = 0;
        std::uint64_t overdue_at = never; ///< of the current CPU segment
        std::uint64_t watched_since = 0;
        std::uint64_t spent_on_cpu = 0; ///< waiting and running, before that
        bool overdue = false;
        bool was_overdue = false;
        std::uint64_t bpu_time = 0;
        std::uint32_t bpu_left = 0;

        bool high() const;
        bool next_is_bpu() const;
        bool in_gap() const;
    };

    struct Choice {
        View* view = nullptr;
        std::uint64_t cores = 0; ///< bit k - 1: core k may take it
    };

    /// The wait of a task when no task may go on.
    struct Wait {
        ovt_sched_wait_type type = OVT_SCHED_WAIT_NONE;
        const ovt_sched_task* ahead = nullptr;
        std::uint64_t cores = 0;
    };

    View& view(const Task& task) { return views_[task.number]; }
    std::uint32_t queue_of(const View& view) const;
    /// The key by which the policy orders tasks (docs/reference/scenarios.md, "Policies").
    using Rank = std::tuple<int, std::int64_t, std::uint64_t>;
    Rank rank(const View& view) const;
    bool before(const View& a, const View& b) const;
    void enter(View& view, State state);
    void leave_queue(View& view);
    void end(View& view, const ovt_sched_action* action);
    void watch(View& view, std::uint64_t now) const;
    static void unwatch(View& view, std::uint64_t now);
    std::uint64_t time_on_cpu(const View& view) const;
    void become_overdue(std::uint64_t now, const ovt_sched_action& action);
    void expect_none_overdue(std::uint64_t now) const;
    bool counts(const View& view) const;
    bool has_place(std::uint32_t process) const;
    bool has_room(const View& view) const;
    bool may_insert(const View& holder, const View& waiting, std::uint64_t now) const;
    bool slot_free(std::uint32_t queue, const View& waiting, std::uint32_t core,
                   std::uint64_t now) const;
    Choice first_of(std::uint32_t queue, std::uint64_t now) const;
    Choice first(std::uint64_t now) const;
    View* first_for_worker() const;
    Wait wait_of(const View& of) const;
    void check_obstacles(const View& of, const ovt_sched_wait& wait) const;
    void check_waits(std::uint64_t now);
    void take_dispatched(std::uint64_t now);
    void dispatch(View& view, std::uint64_t cores);
    void expect(const View& view, const ovt_sched_action* action, ovt_sched_action_type type) const;

    const Case& case_;
    const ovt_sched_settings& settings_;
    const std::string_view policy_;
    std::deque<View> views_;                  ///< by task number
    std::vector<std::vector<View*>> waiting_; ///< of each queue, in the order of the contract
    std::vector<std::vector<View*>> active_;  ///< of each queue: dispatched, not over
    std::vector<std::uint32_t> workers_;      ///< busy ones of each process
    std::uint64_t next_dispatch_ = 1;
    std::size_t checks_ = 0; ///< of waits
};

} // namespace overtake::fuzz
