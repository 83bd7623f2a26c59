// SPDX-License-Identifier: MIT
#include "engine/engine.hpp"

#include <cerrno>
#include <utility>

namespace overtake::engine {

namespace {

/// Nobody waits in the queue of a stepped engine.
SchedulerOptions interruptible(SchedulerOptions options, const ThreadOptions& threads) {
    options.interruptible = !threads.stepped;
    return options;
}

} // namespace

Engine::Engine(std::shared_ptr<Device> device, const SchedulerOptions& options,
               const ThreadOptions& threads)
    : scheduler_(std::move(device), interruptible(options, threads), *this),
      workers_(
          options.worker_count, threads.worker_cpus, [this] { return scheduler_.now_ns(); },
          [this](std::shared_ptr<Run> run, std::int32_t status, std::uint64_t executed_ns) {
              post([&](Mail& mail) {
                  mail.cpu_ends.push_back({std::move(run), status, executed_ns});
                  cpu_ends_++;
              });
          }),
      caller_([this] { call_back(); }) {
    if (threads.stepped)
        return;
    try {
        thread_ = std::thread([this] { this->run(); });
    } catch (...) {
        stop();
        throw;
    }
}

Engine::~Engine() {
    stop();
}

void Engine::stop() {
    if (!caller_.joinable())
        return;
    post([this](Mail&) { stopping_ = true; });
    if (thread_.joinable())
        thread_.join();
    else
        end_stepping();
    {
        const std::lock_guard lock(callbacks_mutex_);
        callbacks_stopping_ = true;
    }
    callbacks_changed_.notify_one();
    caller_.join();
}

// Messages

template <class Write>
void Engine::post(Write write) {
    const std::lock_guard lock(mutex_);
    write(mail_);
    if (reaping_)
        scheduler_.interrupt();
    else
        news_.notify_one();
}

void Engine::submit(std::shared_ptr<Run> run) {
    post([&](Mail& mail) {
        if (!gone_)
            mail.arrivals.push_back(std::move(run));
    });
    if (run)
        lose(*run);
}

/// There is nobody any more who would run it.
void Engine::lose(Run& run) {
    run.finish(-ECANCELED, scheduler_.now_ns());
    if (std::function<void()> callback = run.take_callback())
        hand_over(std::move(callback));
}

void Engine::cancel(std::shared_ptr<Run> run) {
    post([&](Mail& mail) { mail.cancels.push_back(std::move(run)); });
}

void Engine::on_end(std::shared_ptr<Run> run, std::function<void()> callback) {
    if (run->set_callback(callback))
        hand_over(std::move(callback));
}

// The engine's thread

void Engine::run() {
    bool stopping = false;
    do {
        wait_for_news(stopping);
        Mail mail;
        {
            const std::lock_guard lock(mutex_);
            mail = std::exchange(mail_, {});
            stopping = stopping_;
        }
        try {
            run_instant(std::move(mail));
            if (stopping)
                scheduler_.cancel_all();
        } catch (const Error& error) {
            give_up(error.code());
        }
        hand_over_ended();
    } while (!stopping || scheduler_.live() != 0);
    leave();
}

void Engine::leave() {
    Mail mail;
    {
        const std::lock_guard lock(mutex_);
        gone_ = true;
        mail = std::exchange(mail_, {});
    }
    for (const std::shared_ptr<Run>& arriving : mail.arrivals)
        lose(*arriving);
}

void Engine::hand_over_ended() {
    for (const std::shared_ptr<Run>& ended : scheduler_.take_ended())
        if (std::function<void()> callback = ended->take_callback())
            hand_over(std::move(callback));
}

/// The device has failed.
void Engine::give_up(int code) {
    failure_ = code;
    scheduler_.fail(code);
}

void Engine::gather(std::int64_t deadline_ns) {
    if (failure_ != 0)
        return;
    try {
        scheduler_.gather(deadline_ns);
    } catch (const Error& error) {
        give_up(error.code());
    }
}

/// Until there may be something to do.  `stopping`: that it stops is no news.
void Engine::wait_for_news(bool stopping) {
    std::unique_lock lock(mutex_);
    const auto is_news = [&] { return !mail_.empty() || stopping_ != stopping; };
    if (is_news())
        return;
    if (failure_ != 0 || !scheduler_.has_jobs()) {
        news_.wait(lock, is_news);
        return;
    }
    reaping_ = true;
    lock.unlock();
    gather(deadline_never);
    lock.lock();
    reaping_ = false;
}

/// In the order of the contract: ends, arrivals, cancels, dispatches.
void Engine::run_instant(Mail mail) {
    gather(0);
    for (const Mail::CpuEnd& end : mail.cpu_ends)
        scheduler_.cpu_ended(*end.run, end.status, end.executed_ns);
    handle_ends();
    for (std::shared_ptr<Run>& arriving : mail.arrivals)
        scheduler_.arrive(std::move(arriving));
    if (failure_ != 0)
        scheduler_.fail(failure_);
    for (const std::shared_ptr<Run>& cancelled : mail.cancels)
        scheduler_.cancel(*cancelled);
    scheduler_.dispatch();
}

void Engine::handle_ends() {
    while (scheduler_.first_end())
        scheduler_.handle_first_end();
}

void Engine::run_cpu(Run& run, std::size_t step) {
    cpu_begins_++;
    workers_.compute(run.shared_from_this(), step);
}

// An instant of a stepped engine

std::size_t Engine::cpu_ends() const {
    const std::lock_guard lock(mutex_);
    return cpu_ends_;
}

void Engine::step_gather() {
    gather(0);
    std::vector<Mail::CpuEnd> ends;
    {
        const std::lock_guard lock(mutex_);
        ends = std::exchange(mail_.cpu_ends, {});
    }
    for (const Mail::CpuEnd& end : ends)
        scheduler_.cpu_ended(*end.run, end.status, end.executed_ns);
}

void Engine::step_arrivals() {
    std::vector<std::shared_ptr<Run>> arrivals;
    {
        const std::lock_guard lock(mutex_);
        arrivals = std::exchange(mail_.arrivals, {});
    }
    for (std::shared_ptr<Run>& arriving : arrivals)
        scheduler_.arrive(std::move(arriving));
}

void Engine::step_cancels() {
    std::vector<std::shared_ptr<Run>> cancels;
    {
        const std::lock_guard lock(mutex_);
        cancels = std::exchange(mail_.cancels, {});
    }
    for (const std::shared_ptr<Run>& cancelled : cancels)
        scheduler_.cancel(*cancelled);
}

void Engine::step_dispatch() {
    scheduler_.dispatch();
    hand_over_ended();
}

/// Nobody steps it any more.
void Engine::end_stepping() {
    scheduler_.fail(ECANCELED);
    hand_over_ended();
    leave();
}

// Callbacks

void Engine::hand_over(std::function<void()> callback) {
    {
        const std::lock_guard lock(callbacks_mutex_);
        if (!callbacks_stopping_)
            callbacks_.push_back(std::exchange(callback, nullptr));
    }
    if (callback) // the thread that calls back has gone
        callback();
    else
        callbacks_changed_.notify_one();
}

void Engine::call_back() {
    std::unique_lock lock(callbacks_mutex_);
    for (;;) {
        callbacks_changed_.wait(lock, [&] { return callbacks_stopping_ || !callbacks_.empty(); });
        if (callbacks_.empty())
            return;
        const std::function<void()> callback = std::move(callbacks_.front());
        callbacks_.pop_front();
        lock.unlock();
        callback();
        lock.lock();
    }
}

} // namespace overtake::engine
