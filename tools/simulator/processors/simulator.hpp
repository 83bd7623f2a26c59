// SPDX-License-Identifier: MIT
//
// The host of the shipped firmware and the shipped coordinator under virtual time.
//
// Like simulator/simulator.hpp it decides nothing: it brings ends, events, arrivals and cancels to
// both in the contract's order, carries their actions out and tells observers.
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
    /// A run of it: on a core one job.
    struct Run {
        ovt_fw_job job{};
        ovt_coord_run* run = nullptr;
        std::vector<std::uint64_t> fcs; ///< of the job, without its lead
        std::uint64_t executed = 0;     ///< of FCs that have ended
        std::uint64_t fc_start = 0;
        std::uint64_t fc_end = 0; ///< of the one that runs; on a pool of the run
        bool fc_runs = false;
        bool started = false;
        bool cancel_sent = false; ///< to the device
        std::uint64_t record = 0; ///< for observers
        std::uint64_t fc_record = 0;
    };

    ovt_coord_task coord{};
    const TaskKind* kind = nullptr;
    std::uint64_t number = 0; ///< of the listed arrival, or of the loads' tasks, from 0
    std::uint32_t load = 0;   ///< index; not_a_load of listed ones
    std::vector<ovt_coord_run> runs;
    std::vector<ovt_coord_link> links;
    std::vector<Run> host_runs; ///< one for each of `runs`
    std::uint64_t record = 0;   ///< for observers

    static constexpr std::uint32_t not_a_load = ~0u;
};

/// Sees what happens, in order of time.  Every function may be left out.
class Observer {
public:
    virtual ~Observer() = default;
    virtual void arrived(LiveTask&, std::uint64_t time) { (void)time; }
    /// A load's arrival that found too many unfinished.
    virtual void refused(const Generated&, std::uint64_t time) { (void)time; }
    virtual void dispatched(LiveTask&, LiveTask::Run&, std::uint64_t time) { (void)time; }
    /// An FC on a core.
    virtual void fc_started(LiveTask&, LiveTask::Run&, bool high, std::uint32_t index,
                            std::uint64_t time) {
        (void)high, (void)index, (void)time;
    }
    virtual void fc_ended(LiveTask&, LiveTask::Run&, std::uint64_t time) { (void)time; }
    /// A HIGH FC goes ahead of this run, which has begun.
    virtual void preempted(LiveTask&, LiveTask::Run&, std::uint64_t time) { (void)time; }
    /// The first FC of a run on a core, or the run on a pool.
    virtual void run_started(LiveTask&, LiveTask::Run&, std::uint64_t time) { (void)time; }
    virtual void run_ended(LiveTask&, LiveTask::Run&, ovt_coord_status, std::uint64_t time) {
        (void)time;
    }
    /// A processor failed, and by a trial it works again.
    virtual void out_of_use(std::uint32_t processor, std::uint64_t time) {
        (void)processor, (void)time;
    }
    virtual void in_use_again(std::uint32_t processor, std::uint64_t time) {
        (void)processor, (void)time;
    }
    /// The last that is seen of it.
    virtual void ended(LiveTask&, std::uint64_t time) { (void)time; }
};

class ProcessorSimulator {
public:
    /// `scenario` and `observers` outlive it.  `seed` is that of the generated loads.
    ProcessorSimulator(const ProcessorScenario& scenario, std::uint64_t seed,
                       std::span<Observer* const> observers);
    ~ProcessorSimulator();
    ProcessorSimulator(const ProcessorSimulator&) = delete;
    ProcessorSimulator& operator=(const ProcessorSimulator&) = delete;

    /// Until nothing is left to happen.  Throws Error ERANGE when virtual time runs out.
    void run();
    /// That ovt_coord_next() took so far, by all calls.
    std::uint64_t steps() const;

private:
    class Simulation;
    std::unique_ptr<Simulation> simulation_;
};

} // namespace overtake::simulator::processors
