// SPDX-License-Identifier: MIT
//
// ThreadedEngine: one library queue of a process on one device, with threads of its own.
//
// A submitted run has all the memory that it needs to come to its end (run.hpp).
//
// One thread owns the task scheduler and the device's queue; workers compute CPU segments; a third
// kind calls back.  Threads that submit or cancel leave a message.  No lock is held while a thread
// waits, computes or calls back.
//
// Thread safety: any thread may call every function, callbacks included, except the destructor.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/callback_thread.hpp"
#include "engine/process_task_scheduler.hpp"
#include "engine/run.hpp"
#include "engine/service_task_scheduler.hpp"
#include "engine/task_engine.hpp"
#include "engine/work_threads.hpp"

namespace overtake::engine {

struct ThreadOptions {
    std::vector<unsigned> worker_cpus;        ///< as in EngineOptions
    std::optional<std::uint64_t> first_tag{}; ///< as in SchedulerOptions
    /// No thread owns the scheduler: the code that made the engine calls the step functions, from
    /// one thread at a time.  For tests that step a manual clock.
    bool stepped = false;
    bool service = false; ///< its tasks wait in the queue of all processes
};

class ThreadedEngine final : public TaskEngine, private SchedulerHost {
public:
    /// Throws Error as ProcessTaskScheduler and WorkThreads do.
    ThreadedEngine(std::shared_ptr<Device> device, const SchedulerOptions& options,
                   const ThreadOptions& threads = {});
    /// Calls stop().
    ~ThreadedEngine() override;

    void stop() override;
    void check(const RunOptions& options) const override { scheduler_->check(options); }
    std::shared_ptr<SubmittedTask> make_task(std::span<const TaskSegment> segments,
                                             const RunOptions& options,
                                             std::shared_ptr<void> memory) override {
        return std::make_shared<Run>(segments, options, std::move(memory));
    }
    void submit_task(std::shared_ptr<SubmittedTask> task) override {
        submit(std::static_pointer_cast<Run>(std::move(task)));
    }
    void cancel_task(std::shared_ptr<SubmittedTask> task) override {
        cancel(std::static_pointer_cast<Run>(std::move(task)));
    }
    void on_end(std::shared_ptr<SubmittedTask> task, std::function<void()> callback) override {
        callbacks_.on_end(std::move(task), std::move(callback));
    }
    const ServiceSettings* service_settings() const noexcept override { return service_settings_; }

    /// Submits a run, once.
    void submit(std::shared_ptr<Run> run);
    /// Segments that have not started never run.  Returns at once; the run ends some time later.
    void cancel(std::shared_ptr<Run> run);

    // The steps of an instant of a stepped engine, in the order of the contract.

    /// Counts the CPU segments that are over, whether or not they have been handled.
    std::size_t cpu_ends() const;
    /// Counts the CPU segments that workers have been given.
    std::size_t cpu_begins() const noexcept { return cpu_begins_; }
    void step_gather();
    /// The first end of the process's own scheduler; null in service mode, which has none.
    const Run* step_first_end() const { return own_ ? own_->first_end() : nullptr; }
    void step_handle_first_end() { own_->handle_first_end(); }
    /// Handles the submissions and cancels since the last step.
    void step_arrivals();
    void step_cancels();
    void step_dispatch();

private:
    /// Messages that other threads have left for the engine's thread.
    struct Messages {
        RunList<&Run::cpu_end_link_> cpu_ends;
        RunList<&Run::arrival_link_> arrivals;
        RunList<&Run::cancel_link_> cancels;

        bool empty() const { return cpu_ends.empty() && arrivals.empty() && cancels.empty(); }
    };

    void run_cpu(Run& run, std::size_t segment) override;
    /// Computes the segment of run_cpu(), on a worker.
    void compute(std::shared_ptr<Run> run) noexcept;
    friend Run::CpuSegment;

    template <class Write>
    void post(Write write);
    void run();
    void run_instant(Messages& messages);
    void give_up(int code);
    void gather(std::int64_t deadline_ns);
    void wait_for_news(bool stopping);
    void hand_over_ended();
    void end_cpu(RunList<&Run::cpu_end_link_>& ends);
    void arrive(RunList<&Run::arrival_link_> arrivals);
    void cancel(RunList<&Run::cancel_link_> cancels);
    void end_stepping();
    void leave();
    void lose(std::shared_ptr<Run> run);

    std::unique_ptr<TaskSchedulerInterface>
    make_scheduler(std::shared_ptr<Device> device, const SchedulerOptions& options, bool service);

    ProcessTaskScheduler* own_ = nullptr;               ///< scheduler_; null in service mode
    const ServiceSettings* service_settings_ = nullptr; ///< those of scheduler_, in service mode
    std::unique_ptr<TaskSchedulerInterface> scheduler_;
    int failure_ = 0; ///< errno of the device's failure, 0: none; belongs to the engine's thread

    mutable std::mutex mutex_;
    std::condition_variable news_;
    Messages messages_;
    bool reaping_ = false; ///< the engine's thread waits in the device's queue
    bool stopping_ = false;
    bool gone_ = false;       ///< messages are read no more
    bool is_stopped_ = false; ///< stop() has been called
    std::size_t cpu_ends_ = 0;
    std::size_t cpu_begins_ = 0; ///< belongs to the engine's thread

    CallbackThread callbacks_;

    /// Declared after all that its threads write to: a worker may compute when all else has ended.
    WorkThreads workers_;
    std::thread thread_; ///< not in a stepped engine
};

} // namespace overtake::engine
