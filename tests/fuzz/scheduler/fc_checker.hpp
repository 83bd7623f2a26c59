// SPDX-License-Identifier: MIT
//
// FcChecker: follows the events of the firmware, and checks them against the rules.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "scheduler/job.hpp"

namespace overtake::fuzz {

/// The host passes every command when it is queued, and every event in the order of the firmware.
/// Functions throw Violation. The checker uses only the events of the firmware, and at the end its
/// totals.
class FcChecker {
public:
    explicit FcChecker(const Case& of);

    void queued_submit(const Job& job, std::uint64_t now);
    void queued_cancel(const Job& job, std::uint64_t now);
    void queued_kill(const ovt_fw_context* context, std::uint64_t now);
    void queued_reset(std::uint32_t core, std::uint64_t now);
    void queued_limit(std::uint32_t core, std::uint32_t limit, std::uint64_t now);
    void queued_floor(std::uint32_t core, std::uint32_t floor, std::uint64_t now);
    void queued_hold(std::uint64_t now);
    void queued_release(std::uint64_t now);

    void event(const ovt_event& event);
    /// The firmware has no more work at this time: checks that no core is idle beside waiting FCs.
    void settled() const;
    /// All jobs are over: checks the totals.
    void finish(const ovt_fw& firmware);

    std::uint64_t started() const { return started_; }

private:
    struct View; // of a job
    struct Core;
    struct Pending; // a command without an event of its own

    View& live(const ovt_event& event);
    void take_pending(std::uint64_t order);
    void take_pending_until(std::uint64_t time);
    void take_pending_until_abort(const Core& core, std::uint64_t time);
    void apply(const Pending& pending);
    bool held_in_the_end() const;
    bool kill_pending(const ovt_fw_context* context, std::uint64_t time) const;
    void command_seen(std::uint64_t order, std::uint64_t stamp, const ovt_event& event);

    void arrived(const ovt_event& event);
    void started(const ovt_event& event);
    void preempted(const ovt_event& event);
    void fc_ended(const ovt_event& event);
    void job_ended(const ovt_event& event);
    void cancelled(const ovt_event& event);
    void killed(const ovt_event& event);

    std::uint32_t least_loaded() const;
    std::pair<View*, std::uint32_t> choice(Core& core) const;
    std::pair<View*, std::uint32_t> fair_choice(Core& core) const;
    static View* first_of(const Core& core, const ovt_fw_context* context);
    static void give(Core& core);
    static void leave_circle(Core& core, const ovt_fw_context* context);
    void note_start(Core& core, View& view, bool high, std::uint64_t time);
    void check_natural_end(const Core& core, const ovt_event& event) const;
    void check_abort(const Core& core, const ovt_event& event) const;
    void withdraw(View& view);
    void check_totals(const View& view, const ovt_event& event) const;

    struct View {
        const Job* job;
        std::uint64_t submit_order = 0;
        std::uint64_t submit_stamp = 0;
        std::uint64_t cancel_order = 0; ///< 0: none queued
        std::uint64_t cancel_stamp = 0;
        std::uint64_t sequence = 0; ///< of arrival; 0: not arrived
        std::uint64_t arrival = 0;
        std::uint32_t core = 0;
        std::uint32_t next = 0;  ///< FC to start
        std::uint32_t given = 0; ///< FCs that its context has given, where the device is fair
        std::uint32_t done = 0;
        std::uint32_t preemptions = 0;
        std::uint64_t executed = 0;
        std::uint64_t first_start = 0;
        bool high = false;
        bool withdrawn = false;        ///< FCs that had not started never will
        bool overtaken = false;        ///< PREEMPTED was reported since its last FC
        std::uint64_t high_before = 0; ///< HIGH FCs of its core at the start of its last FC
        std::optional<std::uint64_t> killed_at; ///< with its context, while no FC of it ran
        bool ended = false;
        std::uint32_t fault = 0;

        std::uint32_t count() const { return static_cast<std::uint32_t>(job->fcs.size()); }
        std::uint32_t waiting() const { return withdrawn ? 0 : count() - next; }
    };

    struct Core {
        std::deque<View*> rings[2]; ///< jobs with FCs to start, in order of arrival
        std::deque<std::pair<View*, std::uint32_t>> batch;
        std::deque<const ovt_fw_context*> circle; ///< fair: contexts with FCs to give
        std::uint32_t turn_left = 0;              ///< FCs of the first one's turn; 0: not begun
        std::uint64_t limit = 0;
        std::uint64_t limit_active = 0;
        std::uint64_t floor = 0;
        std::uint64_t overtook = 0; ///< HIGH FCs in a row that left a NORMAL one waiting
        std::uint64_t unfinished = 0;
        std::uint64_t free_since = 0;
        View* running = nullptr;
        std::uint32_t running_fc = 0;
        bool running_high = false;
        std::uint64_t start = 0;
        std::uint32_t abort = 0; ///< fault that the running FC must end with, or 0
        std::uint64_t abort_time = 0;
        View* last_normal = nullptr;           ///< has begun and has FCs to start
        const ovt_fw_job* overtaker = nullptr; ///< PREEMPTED named this job
        std::uint64_t high_started = 0;
        std::uint64_t busy = 0;
        std::uint64_t done[2] = {};
        std::uint64_t preemptions = 0;
        std::uint64_t faults = 0;
        std::uint64_t resets = 0;
    };

    struct Pending {
        ovt_command_type type;
        std::uint64_t order;
        std::uint64_t stamp;
        std::uint32_t core;
        std::uint32_t limit; ///< or the floor
        const ovt_fw_context* context;
    };

    struct Killed {
        const ovt_fw_context* context;
        bool answered;
    };

    const Case& case_;
    bool functional_;
    std::vector<Core> cores_;
    std::deque<View> views_; ///< by job number
    std::deque<Pending> pending_;
    std::vector<Killed> kills_;
    std::uint64_t next_order_ = 1;
    std::uint64_t last_order_ = 0; ///< of the commands seen to be consumed
    std::uint64_t next_sequence_ = 1;
    std::uint64_t time_ = 0; ///< of the last event
    bool held_ = false;
    std::uint64_t released_at_ = 0; ///< the last time, from a hold
    std::uint64_t started_ = 0;
};

} // namespace overtake::fuzz
