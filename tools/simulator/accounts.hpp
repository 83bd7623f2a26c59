// SPDX-License-Identifier: MIT
//
// Accounts: latencies, and the places in which the time of every task passed.
//
// From its arrival to its end, a task is at any moment in exactly one place: queued (waiting in its
// library queue), worker (waiting for a CPU worker), cpu (on a worker), blocked (its job is on the
// device and none of its FCs has run), running, or preempted (between two of its FCs). So the parts
// add up to the latency exactly; check() proves it. Blocked and preempted time is attributed to a
// class: the class whose FC ran on the core meanwhile, or whose HIGH group held the core between
// two stages. A group has several cores and also waits for its own stages, so its waits are
// attributed to its own class.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "simulator/distribution.hpp"
#include "simulator/simulator.hpp"

namespace overtake::simulator {

/// The counted part of a run: tasks that arrive, and the work of cores, at or after `from` and
/// before `to`.
struct Window {
    std::uint64_t from = 0;
    std::uint64_t to = ~std::uint64_t{0};

    bool holds(std::uint64_t time) const { return from <= time && time < to; }
    /// Returns how much of the time from `begin` to `end` is in the window.
    std::uint64_t part(std::uint64_t begin, std::uint64_t end) const;
};

/// Sums over all tasks of a class that have ended, in the scenario's unit of time.
struct ClassAccount {
    Distribution latency;    ///< of tasks that were not cancelled
    std::uint64_t ended = 0; ///< tasks that ended, including cancelled ones
    std::uint64_t cancelled = 0;
    std::uint64_t dropped = 0;  ///< tasks that were not let in
    std::uint64_t with_slo = 0; ///< tasks with an SLO, ended or dropped
    std::uint64_t slo_met = 0;
    std::uint64_t preemptions = 0;
    std::uint64_t latency_sum = 0;  ///< including cancelled tasks
    std::uint64_t isolated_sum = 0; ///< of tasks that were not cancelled: their latency alone
    std::uint64_t queued = 0;
    std::uint64_t worker = 0;
    std::uint64_t cpu = 0;
    std::uint64_t running = 0;
    std::vector<std::uint64_t> blocked_by;   ///< by class
    std::vector<std::uint64_t> preempted_by; ///< by class
};

struct CoreAccount {
    std::uint64_t busy = 0;
    std::array<std::uint64_t, 2> fcs{}; ///< NORMAL, HIGH
    std::uint64_t gap = 0;              ///< time while a slot's holder was in a gap
    std::uint64_t gap_filled = 0;       ///< the part of `gap` in which the core ran an FC
};

/// Memory holds the latencies of each class and priority, and live tasks times classes.
class Accounts : public Observer {
public:
    explicit Accounts(const Scenario& scenario, const Window& window = {});

    const std::vector<ClassAccount>& classes() const { return classes_; }
    const std::vector<CoreAccount>& cores() const { return core_accounts_; }
    /// Returns latencies by priority; null for a priority that no task had.
    const std::array<std::unique_ptr<Distribution>, 256>& priorities() const { return priorities_; }
    /// Return the counted part's bounds: the first arrival and the last end, within the window.
    std::uint64_t from() const;
    std::uint64_t to() const;
    /// Throws std::logic_error if the parts do not add up.
    void check() const;

    void arrived(LiveTask& task, std::uint64_t time) override;
    void dropped(const Load& load, std::uint64_t time) override;
    void ready(LiveTask& task, std::uint64_t time) override;
    void cpu_waiting(LiveTask& task, std::uint64_t time) override;
    void cpu_started(LiveTask& task, std::uint32_t segment, std::uint64_t time,
                     std::uint64_t end) override;
    void cpu_ended(LiveTask& task, std::uint64_t time) override;
    void submitted(LiveTask& task, std::uint32_t segment, std::uint64_t time) override;
    void fc_started(LiveTask& task, unsigned core, bool high, std::uint32_t index,
                    std::uint64_t time, std::uint64_t end) override;
    void fc_ended(LiveTask& task, unsigned core, std::uint64_t time) override;
    void job_ended(LiveTask& task, std::uint64_t time) override;
    void overdue(LiveTask& task, std::uint64_t time) override { leave_gap(task, time); }
    void ended(LiveTask& task, std::uint64_t time) override;

private:
    /// The work of a core so far.
    struct Core {
        /// By class, until `counted`; includes time in which the core was held.
        std::vector<std::uint64_t> busy_with;
        std::uint64_t counted = 0;
        /// The classes of HIGH groups with FCs to run on the core, by arrival.
        std::map<std::uint64_t, std::uint32_t> groups;
        std::uint32_t running_class = 0;
        bool busy = false;
        std::uint64_t running_since = 0;
        std::uint32_t holders_in_gap = 0;
        std::uint64_t gap_seen = 0; ///< the time until which gap time is counted
    };

    Core& core_of(const LiveTask& task) { return cores_[task.job.placed_core - 1]; }
    std::uint64_t* snapshot_of(const LiveTask& task);
    static bool is_group(const LiveTask& task);
    static void count(Core& core, std::uint64_t time);
    void enter_high(LiveTask& task, std::uint64_t time);
    void leave_high(const LiveTask& task, unsigned core, std::uint64_t time);
    void begin_wait(LiveTask& task, std::uint64_t time);
    void end_wait(LiveTask& task, std::uint64_t time);
    void end_phase(LiveTask& task, std::uint64_t time);
    void count_gap(std::size_t core, std::uint64_t time);
    void enter_gap(LiveTask& task, std::uint64_t time);
    void leave_gap(LiveTask& task, std::uint64_t time);

    const Scenario& scenario_;
    Window window_;
    std::vector<ClassAccount> classes_;
    std::vector<CoreAccount> core_accounts_;
    std::array<std::unique_ptr<Distribution>, 256> priorities_;
    std::vector<Core> cores_;
    std::vector<std::uint64_t> snapshots_; ///< by slot and class: Core::busy_with when a wait began
    std::uint64_t first_arrival_ = ~std::uint64_t{0};
    std::uint64_t last_end_ = 0;
};

} // namespace overtake::simulator
