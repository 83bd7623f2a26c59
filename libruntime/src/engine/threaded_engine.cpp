// SPDX-License-Identifier: MIT
#include "engine/threaded_engine.hpp"

#include <cerrno>
#include <new>
#include <utility>

#include "engine/guarded_compute.hpp"

namespace overtake::engine {

namespace {

/// No thread waits in the queue of a stepped engine.
SchedulerOptions interruptible(SchedulerOptions options, const ThreadOptions& threads) {
    options.interruptible = !threads.stepped;
    return options;
}

} // namespace

ThreadedEngine::ThreadedEngine(std::shared_ptr<Device> device, const SchedulerOptions& options,
                               const ThreadOptions& threads)
    : scheduler_(
          make_scheduler(std::move(device), interruptible(options, threads), threads.service)),
      workers_(options.settings.workers, threads.worker_cpus) {
    if (threads.stepped)
        return;
    try {
        thread_ = start_thread([this] { this->run(); });
    } catch (...) {
        stop();
        throw;
    }
}

std::unique_ptr<TaskSchedulerInterface>
ThreadedEngine::make_scheduler(std::shared_ptr<Device> device, const SchedulerOptions& options,
                               bool service) {
    SchedulerHost& host = *this;
    if (service) {
        auto shared = std::make_unique<ServiceTaskScheduler>(std::move(device), options, host);
        service_settings_ = &shared->settings();
        return shared;
    }
    auto own = std::make_unique<ProcessTaskScheduler>(std::move(device), options, host);
    own_ = own.get();
    return own;
}

ThreadedEngine::~ThreadedEngine() {
    stop();
}

void ThreadedEngine::stop() {
    if (std::exchange(is_stopped_, true))
        return;
    post([this](Messages&) { stopping_ = true; });
    if (thread_.joinable())
        thread_.join();
    else
        end_stepping();
    callbacks_.stop();
}

// Messages

template <class Write>
void ThreadedEngine::post(Write write) {
    const std::lock_guard lock(mutex_);
    write(messages_);
    if (!reaping_) {
        news_.notify_one();
        return;
    }
    try {
        scheduler_->interrupt();
    } catch (const Error&) { // the device has failed, which the next reap reports
    }
}

void ThreadedEngine::submit(std::shared_ptr<Run> run) {
    post([&](Messages& messages) {
        if (!gone_)
            messages.arrivals.push(std::move(run));
    });
    if (run)
        lose(std::move(run));
}

/// Ends a run as cancelled: the thread that would run it has ended.
void ThreadedEngine::lose(std::shared_ptr<Run> run) {
    run->finish(-ECANCELED, scheduler_->now_ns());
    callbacks_.hand_over(std::move(run));
}

void ThreadedEngine::cancel(std::shared_ptr<Run> run) {
    post([&](Messages& messages) {
        if (!std::exchange(run->is_cancel_posted_, true))
            messages.cancels.push(std::move(run));
    });
}

// The engine's thread

void ThreadedEngine::run() {
    bool stopping = false;
    do {
        wait_for_news(stopping);
        Messages messages;
        {
            const std::lock_guard lock(mutex_);
            messages = std::exchange(messages_, {});
            stopping = stopping_;
        }
        try {
            run_instant(messages);
            if (stopping)
                scheduler_->cancel_all();
        } catch (const Error& error) {
            give_up(error.code());
        } catch (const std::bad_alloc&) {
            give_up(ENOMEM);
        }
        if (failure_ != 0) { // messages that it had not handled are handled now
            end_cpu(messages.cpu_ends);
            arrive(std::move(messages.arrivals));
            scheduler_->fail(failure_);
        }
        hand_over_ended();
    } while (!stopping || scheduler_->live() != 0);
    leave();
}

void ThreadedEngine::leave() {
    Messages messages;
    {
        const std::lock_guard lock(mutex_);
        gone_ = true;
        messages = std::exchange(messages_, {});
    }
    while (!messages.arrivals.empty())
        lose(messages.arrivals.pop());
}

void ThreadedEngine::hand_over_ended() {
    auto ended = scheduler_->take_ended();
    while (!ended.empty())
        callbacks_.hand_over(ended.pop());
}

/// Gives up: the device has failed.
void ThreadedEngine::give_up(int code) {
    failure_ = code;
    scheduler_->fail(code);
}

void ThreadedEngine::gather(std::int64_t deadline_ns) {
    if (failure_ != 0)
        return;
    try {
        scheduler_->gather(deadline_ns);
    } catch (const Error& error) {
        give_up(error.code());
    } catch (const std::bad_alloc&) {
        give_up(ENOMEM);
    }
}

/// Waits until there may be something to do.  `stopping`: the caller knows that the engine stops.
void ThreadedEngine::wait_for_news(bool stopping) {
    std::unique_lock lock(mutex_);
    const auto is_news = [&] { return !messages_.empty() || stopping_ != stopping; };
    if (is_news())
        return;
    if (failure_ != 0 || !scheduler_->has_jobs()) {
        news_.wait(lock, is_news);
        return;
    }
    reaping_ = true;
    lock.unlock();
    gather(deadline_never);
    lock.lock();
    reaping_ = false;
}

/// Handles messages in the order of the contract: ends, arrivals, cancels, dispatches.  When it
/// throws, the messages that it has handled are no longer there.
void ThreadedEngine::run_instant(Messages& messages) {
    gather(0);
    end_cpu(messages.cpu_ends);
    arrive(std::move(messages.arrivals));
    cancel(std::move(messages.cancels));
    scheduler_->dispatch();
}

void ThreadedEngine::end_cpu(RunList<&Run::cpu_end_link_>& ends) {
    while (!ends.empty()) {
        const std::shared_ptr<Run> run = ends.pop();
        run->with_worker_ = false;
        scheduler_->cpu_ended(*run, run->cpu_segment_.status, run->cpu_segment_.executed_ns);
    }
}

void ThreadedEngine::arrive(RunList<&Run::arrival_link_> arrivals) {
    while (!arrivals.empty())
        scheduler_->arrive(arrivals.pop());
}

void ThreadedEngine::cancel(RunList<&Run::cancel_link_> cancels) {
    while (!cancels.empty())
        scheduler_->cancel(*cancels.pop());
}

void ThreadedEngine::run_cpu(Run& run, std::size_t segment) {
    cpu_begins_++;
    run.with_worker_ = true;
    Run::CpuSegment& work = run.cpu_segment_;
    work.engine = this;
    work.owner = run.shared();
    work.memory = run.memory();
    work.number = segment;
    work.status = 0;
    work.executed_ns = 0;
    workers_.add(work);
}

void Run::CpuSegment::run(ThreadMemory& /*memory*/) noexcept {
    engine->compute(std::move(owner));
}

void ThreadedEngine::compute(std::shared_ptr<Run> run) noexcept {
    Run::CpuSegment& work = run->cpu_segment_;
    const std::uint64_t begin_ns = scheduler_->now_ns();
    work.status = compute_guarded(*run, [&] {
        const TaskSegment& segment = run->segments()[work.number];
        return segment.work->compute(segment.number);
    });
    work.executed_ns = scheduler_->now_ns() - begin_ns;
    work.memory.reset();
    post([&](Messages& messages) {
        messages.cpu_ends.push(std::move(run));
        cpu_ends_++;
    });
}

// An instant of a stepped engine

std::size_t ThreadedEngine::cpu_ends() const {
    const std::lock_guard lock(mutex_);
    return cpu_ends_;
}

void ThreadedEngine::step_gather() {
    gather(0);
    Messages messages;
    {
        const std::lock_guard lock(mutex_);
        messages.cpu_ends = std::move(messages_.cpu_ends);
    }
    end_cpu(messages.cpu_ends);
}

void ThreadedEngine::step_arrivals() {
    Messages messages;
    {
        const std::lock_guard lock(mutex_);
        messages.arrivals = std::move(messages_.arrivals);
    }
    arrive(std::move(messages.arrivals));
}

void ThreadedEngine::step_cancels() {
    Messages messages;
    {
        const std::lock_guard lock(mutex_);
        messages.cancels = std::move(messages_.cancels);
    }
    cancel(std::move(messages.cancels));
}

void ThreadedEngine::step_dispatch() {
    scheduler_->dispatch();
    hand_over_ended();
}

/// Ends the runs of an engine that its caller steps no more.
void ThreadedEngine::end_stepping() {
    scheduler_->fail(ECANCELED);
    while (scheduler_->live() != 0) { // runs with a worker
        Messages messages;
        {
            std::unique_lock lock(mutex_);
            news_.wait(lock, [&] { return !messages_.cpu_ends.empty(); });
            messages.cpu_ends = std::move(messages_.cpu_ends);
        }
        end_cpu(messages.cpu_ends);
    }
    hand_over_ended();
    leave();
}

} // namespace overtake::engine
