// SPDX-License-Identifier: MIT
//
// Runner: executes the runs of a coordinator.  It is the cores of a device, a pool of workers, or a
// user's own processor.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/work_threads.hpp"
#include "network/job_queue.hpp"
#include "overtake/device.hpp"

extern "C" {
#include "sched/coord/coord.h"
}

namespace overtake::coordination {

using engine::ThreadMemory;
using engine::ThreadWork;
using engine::WorkThreads;

class CoordinatedTask;
struct UnitRun;

/// The outcome of a run.
enum class RunOutcome : std::uint8_t {
    done,
    cancelled,
    failed, ///< its processor failed
    fault   ///< the program failed: the task fails with the status
};

/// The job of one unit of a run on a core.
struct UnitJob {
    UnitJob() : entry(*this) {}

    UnitRun* run = nullptr;
    std::uint32_t unit = 0;
    std::uint64_t tag = 0;
    bool is_in_flight = false;
    JobEntry<UnitJob> entry;
};

/// A run between its dispatch and its end.  It belongs to the runner from start() until
/// RunnerHost::run_ended().
struct UnitRun final : public ThreadWork {
    /// Runs on a thread of a pool.
    void run(ThreadMemory& memory) noexcept override;

    // Belongs to the coordinator.
    CoordinatedTask* task = nullptr;
    const ovt_coord_run* described = nullptr;
    std::uint32_t engine_class = 0; ///< the class of its processor
    std::uint64_t first_tag = 0;    ///< on a core: of its first unit's job; others follow it
    bool is_with_runner = false;

    /// The coordinator sets it while the runner has the run: units that have not started are
    /// cancelled.
    std::atomic<bool> is_cancelled{false};

    // Belongs to the runner.
    class PoolRunner* pool = nullptr;
    UnitRun* before = nullptr;
    UnitRun* behind = nullptr;
    std::uint32_t jobs_left = 0;
    bool is_cancelled_there = false;

    // The result.
    RunOutcome outcome = RunOutcome::done;
    std::int32_t status = 0;         ///< a negative errno of a fault
    bool has_started = false;        ///< some of the run was executed
    std::uint64_t executed_ns = 0;   ///< without its lead
    std::uint64_t start_ns = 0;      ///< device time
    std::uint64_t end_ns = 0;        ///< device time
    Completion job{};                ///< on a core: its jobs as one, up to one that failed
    UnitRun* ended_behind = nullptr; ///< belongs to the host
};

/// The receiver of a runner's reports, which come from any thread.
class RunnerHost {
public:
    virtual ~RunnerHost() = default;
    /// The run belongs to the coordinator again.
    virtual void run_ended(UnitRun& run) noexcept = 0;
    /// The processor does not work any more.  The runs that it had come back after Runner::stop().
    virtual void processor_failed(std::uint32_t processor) noexcept = 0;
    virtual void trial_ended(std::uint32_t processor, bool works) noexcept = 0;
    /// The processor has failed, and no trial will bring it back.
    virtual void processor_gone(std::uint32_t /*processor*/) noexcept {}
};

/// The coordinator's thread calls the functions, which return at once.  The runner reports to the
/// host some time later, not from within a call; only a pool reports the end of a trial from within
/// begin_trial().
class Runner {
public:
    virtual ~Runner() = default;
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    virtual void start(UnitRun& run) noexcept = 0;
    /// Notifies the runner that at least one of its runs is marked with is_cancelled.
    virtual void note_cancel() noexcept = 0;
    /// Makes the runner give back each run that it has for a processor that has failed.
    virtual void stop(std::uint32_t processor) noexcept = 0;
    /// Tries whether a processor works.
    virtual void begin_trial(std::uint32_t processor) noexcept = 0;

protected:
    Runner() = default;
};

} // namespace overtake::coordination
