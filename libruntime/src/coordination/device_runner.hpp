// SPDX-License-Identifier: MIT
//
// DeviceRunner: cores of one device as processors.  A thread of its own submits the jobs of runs
// and waits for their ends, so that a device which is slow or dead delays no other.
//
// A run is one job for each of its units, all on its core and in their order.  When a unit does not
// end well, the units after it are cancelled.  A core has failed when a job ends with -EIO (a
// reset) or -ENODEV.  All cores have failed for good when the device itself ends.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "coordination/coordinated_task.hpp"
#include "coordination/runner.hpp"
#include "network/job_queue.hpp"

namespace overtake::coordination {

class DeviceRunner final : public Runner {
public:
    struct Core {
        std::uint32_t processor; ///< in the engine's order
        unsigned number;         ///< on the device, from 1
    };

    /// Throws Error as Device::create_queue() and create_buffer() do, and EAGAIN if no thread can
    /// be created.
    DeviceRunner(std::shared_ptr<Device> device, unsigned domain, QueueOptions options,
                 std::vector<Core> cores, RunnerHost& host, bool is_stepped = false,
                 unsigned record = 0);
    /// Called when the runner has no runs any more.
    ~DeviceRunner() override;

    void start(UnitRun& run) noexcept override;
    void note_cancel() noexcept override;
    void stop(std::uint32_t processor) noexcept override;
    void begin_trial(std::uint32_t processor) noexcept override;

    /// Carries out the messages of a stepped runner, which has no thread, and reports the jobs that
    /// have ended.  For tests that step a manual clock.
    void step();
    /// Takes runs for a processor again.  The call replaces a successful trial, which would take
    /// device time.
    void take_again(std::uint32_t processor) noexcept { state_of(processor).is_failed = false; }

private:
    struct RunQueue {
        UnitRun* first = nullptr;
        UnitRun* last = nullptr;
    };
    /// Messages that the coordinator's thread has left for this thread.
    struct Inbox {
        RunQueue starts;
        std::uint64_t stops = 0;  ///< processors
        std::uint64_t trials = 0; ///< processors
        bool has_cancels = false;
        bool is_stopping = false;

        bool is_empty() const noexcept {
            return !starts.first && stops == 0 && trials == 0 && !has_cancels;
        }
    };
    struct CoreState {
        Core core;
        RunQueue runs;          ///< on the device, in the order in which they were submitted
        bool is_failed = false; ///< until a trial
        UnitJob trial;
    };

    template <class Write>
    void post(Write write) noexcept;
    void run();
    void handle(const Inbox& inbox);
    void wait();
    void gather(std::int64_t deadline_ns);
    void submit(UnitRun& run);
    void submit_jobs(UnitRun& run);
    void cancel_jobs(UnitRun& run) noexcept;
    void cancel_wanted() noexcept;
    void job_ended(UnitJob& job, const Completion& completion);
    void end(UnitRun& run) noexcept;
    void fail(CoreState& core) noexcept;
    void lose_device() noexcept;
    void stop_core(CoreState& core) noexcept;
    void try_core(CoreState& core) noexcept;
    CoreState& state_of(std::uint32_t processor) noexcept;
    Job plain_job(const UnitRun& run, std::uint64_t tag);

    const std::shared_ptr<Device> device_;
    const unsigned domain_;
    RunnerHost& host_;
    std::vector<std::unique_ptr<CoreState>> cores_;
    std::unique_ptr<Buffer> trial_program_;
    bool is_lost_ = false; ///< the device has ended

    std::mutex mutex_;
    std::condition_variable news_;
    Inbox inbox_;
    bool is_reaping_ = false;

    JobQueue<UnitJob> queue_;
    std::thread thread_;
};

} // namespace overtake::coordination
