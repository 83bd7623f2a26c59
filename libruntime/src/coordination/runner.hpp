// SPDX-License-Identifier: MIT
//
// Runner: what a coordinator hands runs to: the cores of a device, a pool of workers, or a user's
// own processor.
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

/// How a run ended.
enum class RunOutcome : std::uint8_t {
    done,
    cancelled,
    failed, ///< its processor did
    fault   ///< of the program: the task fails with the status
};

/// A unit of a run on a core: one job.
struct UnitJob {
    UnitJob() : entry(*this) {}

    UnitRun* run = nullptr;
    std::uint32_t unit = 0;
    std::uint64_t tag = 0;
    bool is_in_flight = false;
    JobEntry<UnitJob> entry;
};

/// A run between its dispatch and its end: the runner's from start() until RunnerHost::run_ended().
struct UnitRun final : public ThreadWork {
    /// On a thread of a pool.
    void run(ThreadMemory& memory) noexcept override;

    // The coordinator's.
    CoordinatedTask* task = nullptr;
    const ovt_coord_run* described = nullptr;
    std::uint32_t engine_class = 0; ///< of its processor
    std::uint64_t first_tag = 0;    ///< on a core: of its first unit's job; others follow it
    bool is_with_runner = false;

    /// Set by the coordinator while the runner has it: what has not started is to leave.
    std::atomic<bool> is_cancelled{false};

    // The runner's.
    class PoolRunner* pool = nullptr;
    UnitRun* before = nullptr;
    UnitRun* behind = nullptr;
    std::uint32_t jobs_left = 0;
    bool is_cancelled_there = false;

    // What became of it.
    RunOutcome outcome = RunOutcome::done;
    std::int32_t status = 0;         ///< a negative errno of a fault
    bool has_started = false;        ///< some of it was executed
    std::uint64_t executed_ns = 0;   ///< its lead excepted
    std::uint64_t start_ns = 0;      ///< device time
    std::uint64_t end_ns = 0;        ///< device time
    Completion job{};                ///< on a core: of its jobs together, up to one that failed
    UnitRun* ended_behind = nullptr; ///< the host's
};

/// To which runners report.  From any thread.
class RunnerHost {
public:
    virtual ~RunnerHost() = default;
    /// The run is the coordinator's again.
    virtual void run_ended(UnitRun& run) noexcept = 0;
    /// It does not work any more.  What it had comes back after Runner::stop().
    virtual void processor_failed(std::uint32_t processor) noexcept = 0;
    virtual void trial_ended(std::uint32_t processor, bool works) noexcept = 0;
    /// It has failed, and no trial will bring it back.
    virtual void processor_gone(std::uint32_t /*processor*/) noexcept {}
};

/// The coordinator's thread calls the functions, which return at once.  The runner reports to the
/// host some time later, not from within a call.
class Runner {
public:
    virtual ~Runner() = default;
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    virtual void start(UnitRun& run) noexcept = 0;
    /// A run with is_cancelled is among those that it has.
    virtual void note_cancel() noexcept = 0;
    /// Each run that it has for a processor that has failed comes back.
    virtual void stop(std::uint32_t processor) noexcept = 0;
    /// Tries whether a processor works.
    virtual void begin_trial(std::uint32_t processor) noexcept = 0;

protected:
    Runner() = default;
};

} // namespace overtake::coordination
