// SPDX-License-Identifier: MIT
//
// The host of the shipped firmware and the shipped coordinator under virtual time.
//
// Like simulator/simulator.hpp, this simulator decides nothing. It passes ends, events, arrivals
// and cancels to the firmware and the coordinator in the contract's order, performs their actions,
// and notifies observers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulator/processors/scenario.hpp"

namespace overtake::simulator::processors {

/// A task between its arrival and its end.
struct LiveTask {
    /// A run of the task; on a core, it is one job.
    struct Run {
        ovt_fw_job job{};
        ovt_coord_run* run = nullptr;
        std::vector<std::uint64_t> fcs; ///< durations of the job's FCs, without its lead
        std::uint64_t executed = 0;     ///< time of the FCs that have ended
        std::uint64_t fc_start = 0;
        std::uint64_t fc_end = 0; ///< end of the FC that runs; on a pool, end of the run
        bool fc_runs = false;
        bool started = false;
        bool cancel_sent = false; ///< whether a cancel was sent to the device
        std::uint64_t record = 0; ///< for observers
        std::uint64_t fc_record = 0;
    };

    ovt_coord_task coord{};
    const TaskKind* kind = nullptr;
    std::uint64_t number = 0; ///< from 0: among listed arrivals, or among all arrivals of the loads
    std::uint32_t load = 0;   ///< index of the load; not_a_load for listed tasks
    std::vector<ovt_coord_run> runs;
    std::vector<ovt_coord_link> links;
    std::vector<Run> host_runs; ///< one for each of `runs`
    std::uint64_t record = 0;   ///< for observers

    static constexpr std::uint32_t not_a_load = ~0u;
};

/// Observes a simulation in order of time. Every function may be left out.
class Observer {
public:
    virtual ~Observer() = default;
    virtual void arrived(LiveTask&, std::uint64_t time) { (void)time; }
    /// An arrival of a load was refused: too many of the load's tasks are unfinished.
    virtual void refused(const Generated&, std::uint64_t time) { (void)time; }
    virtual void dispatched(LiveTask&, LiveTask::Run&, std::uint64_t time) { (void)time; }
    /// An FC starts on a core.
    virtual void fc_started(LiveTask&, LiveTask::Run&, bool high, std::uint32_t index,
                            std::uint64_t time) {
        (void)high, (void)index, (void)time;
    }
    virtual void fc_ended(LiveTask&, LiveTask::Run&, std::uint64_t time) { (void)time; }
    /// A HIGH FC goes ahead of this run, which has begun.
    virtual void preempted(LiveTask&, LiveTask::Run&, std::uint64_t time) { (void)time; }
    /// The first FC of a run starts on a core, or the run starts on a pool.
    virtual void run_started(LiveTask&, LiveTask::Run&, std::uint64_t time) { (void)time; }
    virtual void run_ended(LiveTask&, LiveTask::Run&, ovt_coord_status, std::uint64_t time) {
        (void)time;
    }
    /// A processor failed; later, a trial found that it works again.
    virtual void out_of_use(std::uint32_t processor, std::uint64_t time) {
        (void)processor, (void)time;
    }
    virtual void in_use_again(std::uint32_t processor, std::uint64_t time) {
        (void)processor, (void)time;
    }
    /// The last call for the task.
    virtual void ended(LiveTask&, std::uint64_t time) { (void)time; }
};

class ProcessorSimulator {
public:
    /// `scenario` and `observers` outlive it. `seed` is the seed of the generated loads.
    ProcessorSimulator(const ProcessorScenario& scenario, std::uint64_t seed,
                       std::span<Observer* const> observers);
    ~ProcessorSimulator();
    ProcessorSimulator(const ProcessorSimulator&) = delete;
    ProcessorSimulator& operator=(const ProcessorSimulator&) = delete;

    /// Simulates until no event is left. Throws Error ERANGE when virtual time runs out.
    void run();
    /// Returns the steps of all calls of ovt_coord_next() so far.
    std::uint64_t steps() const;

private:
    class Simulation;
    std::unique_ptr<Simulation> simulation_;
};

} // namespace overtake::simulator::processors
