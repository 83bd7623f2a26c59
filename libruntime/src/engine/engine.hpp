// SPDX-License-Identifier: MIT
//
// Engine: one library queue of a process on one device, with threads of its own.
//
// One thread owns the task scheduler and the device's queue; workers compute CPU segments; a third
// kind calls back.  Whoever submits or cancels leaves a message.  No lock is held while anybody
// waits, computes or is called back.
//
// Thread safety: every function, from any thread, callbacks included, but for the destructor.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/run.hpp"
#include "engine/scheduler.hpp"
#include "engine/workers.hpp"

namespace overtake::engine {

class Engine final : private SchedulerHost {
public:
    /// Throws Error as Scheduler does.
    Engine(std::shared_ptr<Device> device, const SchedulerOptions& options);
    /// Cancels what it has, and waits for the ends and for the last callback.  Not from a callback.
    ~Engine() override;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// A run is submitted once.
    void submit(std::shared_ptr<Run> run);
    /// What has not started never runs.  Returns at once; the run ends some time later.
    void cancel(std::shared_ptr<Run> run);
    /// Calls back once when the run has ended, or soon if it has.  A later callback replaces one
    /// that has not been called.
    void on_end(std::shared_ptr<Run> run, std::function<void()> callback);

private:
    /// What others have left for the engine's thread.
    struct Mail {
        struct CpuEnd {
            std::shared_ptr<Run> run;
            std::int32_t status;
            std::uint64_t executed_ns;
        };
        std::vector<CpuEnd> cpu_ends;
        std::vector<std::shared_ptr<Run>> arrivals;
        std::vector<std::shared_ptr<Run>> cancels;

        bool empty() const { return cpu_ends.empty() && arrivals.empty() && cancels.empty(); }
    };

    void run_cpu(Run& run, std::size_t step) override;

    template <class Write>
    void post(Write write);
    void run();
    void run_instant(Mail mail);
    void give_up(int code);
    void gather(std::int64_t deadline_ns);
    void wait_for_news(bool stopping);
    void handle_ends();
    void call_back();
    void hand_over(std::function<void()> callback);

    Scheduler scheduler_;
    int failure_ = 0; ///< of the device: nothing is taken any more; the engine's thread's

    std::mutex mutex_;
    std::condition_variable news_;
    Mail mail_;
    bool reaping_ = false; ///< the engine's thread waits in the device's queue
    bool stopping_ = false;

    std::mutex callbacks_mutex_;
    std::condition_variable callbacks_changed_;
    std::deque<std::function<void()>> callbacks_;
    bool callbacks_stopping_ = false;

    /// Behind all that they write to: one may compute when everything else has ended.
    Workers workers_;
    std::thread caller_;
    std::thread thread_;
};

} // namespace overtake::engine
