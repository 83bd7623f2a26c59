// SPDX-License-Identifier: MIT
#include "coordination/own_runner.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <condition_variable>
#include <cxxabi.h>
#include <exception>
#include <mutex>
#include <utility>

#include "coordination/coordinated_task.hpp"
#include "coordination/own_call.hpp"
#include "engine/callback_thread.hpp"
#include "monotonic_clock.hpp"

namespace overtake::coordination {

namespace {

/// Longer than any wait; a time plus this does not overflow.
constexpr std::uint64_t never_ns = std::uint64_t{1} << 62;

} // namespace

/// The state that both threads share.  A call that is never done keeps it, too.
class OwnRunner::Shared : public std::enable_shared_from_this<Shared> {
public:
    Shared(std::shared_ptr<OwnProcessor> own, std::uint32_t processor, unsigned domain,
           RunnerHost& host)
        : own_(std::move(own)), processor_(processor), domain_(domain), host_(&host),
          timeout_ns_(std::min(own_->timeout_ns(), never_ns)),
          poll_ns_(std::min(own_->poll_ns(), never_ns)) {}

    void start(UnitRun& run) noexcept;
    void note_cancel() noexcept;
    void stop() noexcept;
    void begin_trial() noexcept;
    void call();
    void watch();
    /// Makes both threads return.  Returns whether the thread that calls the program is idle, and
    /// so can be joined.
    bool leave();

private:
    /// The next action of the thread that calls the program's functions.
    enum class Order : std::uint8_t { none, start, poll, cancel, probe };

    void begin_unit(std::unique_lock<std::mutex>& lock);
    void call_done(std::uint64_t number, std::int32_t status) noexcept;
    void end_run(RunOutcome outcome, std::int32_t status) noexcept;
    void give_up_call() noexcept;
    void fail() noexcept;
    void give_order(Order order);

    const std::shared_ptr<OwnProcessor> own_;
    const std::uint32_t processor_;
    const unsigned domain_;
    RunnerHost* const host_;
    const std::uint64_t timeout_ns_;
    const std::uint64_t poll_ns_;

    std::mutex mutex_;
    std::condition_variable caller_news_, watcher_news_;
    bool is_stopping_ = false;

    UnitRun* run_ = nullptr;   ///< one at a time
    std::uint64_t left_ = 0;   ///< its units that are not done
    std::uint64_t number_ = 0; ///< the number of the call that is under way, or was the last
    std::shared_ptr<OwnCall> call_;
    std::uint64_t begun_ns_ = 0;
    std::uint64_t next_poll_ns_ = 0;
    bool is_done_ = false; ///< the call is done, with status_
    std::int32_t status_ = 0;
    bool is_cancel_told_ = false;
    bool is_failed_ = false;
    std::atomic<std::uint64_t> unanswered_ = 0;      ///< calls that were given up and are not done
    std::shared_ptr<std::atomic<bool>> is_given_up_; ///< flag of the call that is under way
    bool wants_trial_ = false;

    Order order_ = Order::none;
    std::shared_ptr<OwnCall> order_call_;
    bool is_calling_ = false; ///< a function of the program's is running
};

// From the coordinator's thread

void OwnRunner::Shared::start(UnitRun& run) noexcept {
    const std::lock_guard lock(mutex_);
    run_ = &run;
    left_ = run.described->units;
    run.has_started = true;
    run.start_ns = monotonic_ns();
    watcher_news_.notify_one();
}

void OwnRunner::Shared::note_cancel() noexcept {
    const std::lock_guard lock(mutex_);
    watcher_news_.notify_one();
}

void OwnRunner::Shared::stop() noexcept {
    const std::lock_guard lock(mutex_);
    is_failed_ = true;
    watcher_news_.notify_one();
}

void OwnRunner::Shared::begin_trial() noexcept {
    const std::lock_guard lock(mutex_);
    wants_trial_ = true;
    watcher_news_.notify_one();
}

bool OwnRunner::Shared::leave() {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    caller_news_.notify_one();
    watcher_news_.notify_one();
    return !is_calling_;
}

// The thread that calls the program's functions

void OwnRunner::Shared::give_order(Order order) {
    order_ = order;
    order_call_ = call_;
    caller_news_.notify_one();
}

void OwnRunner::Shared::call() {
    std::unique_lock lock(mutex_);
    for (;;) {
        caller_news_.wait(lock, [&] { return is_stopping_ || order_ != Order::none; });
        if (order_ == Order::none || is_stopping_)
            return;
        const Order order = std::exchange(order_, Order::none);
        std::shared_ptr<OwnCall> called = std::move(order_call_);
        is_calling_ = true;
        lock.unlock();
        bool works = true;
        try {
            switch (order) {
            case Order::start:
                own_->start(called);
                break;
            case Order::poll:
                own_->poll(*called);
                break;
            case Order::cancel:
                own_->cancel(*called);
                break;
            case Order::probe:
                works = own_->probe();
                break;
            case Order::none:
                break;
            }
        } catch (const abi::__forced_unwind&) { // the thread is cancelled
            throw;
        } catch (...) {
            works = false;
            if (called)
                called->done(-EIO);
        }
        called.reset();
        lock.lock();
        is_calling_ = false;
        if (order == Order::probe && !is_stopping_) {
            is_failed_ = !works;
            host_->trial_ended(processor_, works);
        }
        watcher_news_.notify_one();
    }
}

// The thread that watches

void OwnRunner::Shared::call_done(std::uint64_t number, std::int32_t status) noexcept {
    const std::lock_guard lock(mutex_);
    if (number != number_ || !call_) {
        unanswered_--; // a call that was given up
        return;
    }
    is_done_ = true;
    status_ = status;
    watcher_news_.notify_one();
}

void OwnRunner::Shared::begin_unit(std::unique_lock<std::mutex>& lock) {
    UnitRun& run = *run_;
    const auto unit = static_cast<std::size_t>(std::countr_zero(left_));
    UnitInference& inference = *run.task->inference();
    const std::uint64_t number = ++number_;
    lock.unlock(); // copies of large tensors take a while
    std::shared_ptr<OwnCall> call;
    std::shared_ptr<std::atomic<bool>> given_up;
    try {
        given_up = std::make_shared<std::atomic<bool>>(false);
        inference.bring(unit, domain_);
        call = std::make_shared<OwnCall>(
            inference.model().shared_from_this(), inference.away(domain_), unit,
            inference.model().work(unit, run.engine_class),
            [self = shared_from_this(), number, given_up](std::int32_t status) {
                // The caller may be a destructor that runs with the lock held.
                if (given_up->load())
                    self->unanswered_--;
                else
                    self->call_done(number, status);
            });
    } catch (const std::exception&) { // no memory
    }
    lock.lock();
    call_ = std::move(call);
    is_given_up_ = std::move(given_up);
    is_done_ = !call_;
    status_ = -ENOMEM;
    is_cancel_told_ = false;
    begun_ns_ = monotonic_ns();
    next_poll_ns_ = poll_ns_ != 0 ? begun_ns_ + poll_ns_ : UINT64_MAX;
    if (call_)
        give_order(Order::start);
}

void OwnRunner::Shared::end_run(RunOutcome outcome, std::int32_t status) noexcept {
    UnitRun& run = *std::exchange(run_, nullptr);
    run.outcome = outcome;
    run.status = status;
    run.end_ns = monotonic_ns();
    left_ = 0;
    call_.reset();
    host_->run_ended(run);
}

/// The call counts as unanswered until it is done or destroyed.
void OwnRunner::Shared::give_up_call() noexcept {
    unanswered_++;
    is_given_up_->store(true);
}

/// Reports the failure to the host before the host gets the run back.
void OwnRunner::Shared::fail() noexcept {
    if (!std::exchange(is_failed_, true))
        host_->processor_failed(processor_);
    if (run_)
        end_run(RunOutcome::failed, -EIO);
}

void OwnRunner::Shared::watch() {
    std::unique_lock lock(mutex_);
    for (;;) {
        const std::uint64_t now = monotonic_ns();
        if (wants_trial_ && !is_calling_ && order_ == Order::none) {
            wants_trial_ = false;
            if (unanswered_ != 0)
                host_->trial_ended(processor_, false);
            else
                give_order(Order::probe);
        } else if (wants_trial_ && is_calling_) { // the function has not returned
            wants_trial_ = false;
            host_->trial_ended(processor_, false);
        }
        if (run_ && is_failed_) {
            if (call_ && !is_done_)
                give_up_call();
            end_run(RunOutcome::failed, -EIO);
        } else if (run_ && !call_ && !is_done_) {
            begin_unit(lock);
            continue;
        } else if (run_ && is_done_) {
            const auto unit = static_cast<std::size_t>(std::countr_zero(left_));
            is_done_ = false;
            if (call_)
                call_->let_go();
            run_->executed_ns += now - begun_ns_;
            const bool is_last = (left_ & (left_ - 1)) == 0;
            if (status_ == -EIO || status_ == -ENODEV) {
                fail();
            } else if (status_ != 0) {
                end_run(run_->is_cancelled.load(std::memory_order_acquire) && status_ == -ECANCELED
                            ? RunOutcome::cancelled
                            : RunOutcome::fault,
                        status_);
            } else {
                run_->task->inference()->note_written(unit, domain_);
                left_ &= left_ - 1;
                call_.reset();
                if (is_last)
                    end_run(RunOutcome::done, 0);
                else if (run_->is_cancelled.load(std::memory_order_acquire))
                    end_run(RunOutcome::cancelled, -ECANCELED);
            }
            continue;
        } else if (run_ && call_ && now - begun_ns_ >= timeout_ns_) {
            give_up_call();
            fail();
            continue;
        } else if (run_ && call_ && !is_calling_ && order_ == Order::none) {
            if (!is_cancel_told_ && run_->is_cancelled.load(std::memory_order_acquire)) {
                is_cancel_told_ = true;
                give_order(Order::cancel);
            } else if (now >= next_poll_ns_) {
                next_poll_ns_ = now + poll_ns_;
                give_order(Order::poll);
            }
        }
        if (is_stopping_ && !run_)
            return;
        std::uint64_t until = UINT64_MAX;
        if (run_ && call_)
            until = std::min(begun_ns_ + timeout_ns_, is_calling_ ? UINT64_MAX : next_poll_ns_);
        wait_until(watcher_news_, lock, until);
    }
}

// OwnRunner

OwnRunner::OwnRunner(std::shared_ptr<OwnProcessor> own, std::uint32_t processor, unsigned domain,
                     RunnerHost& host)
    : shared_(std::make_shared<Shared>(std::move(own), processor, domain, host)),
      caller_(engine::start_thread([shared = shared_] { shared->call(); })) {
    try {
        watcher_ = engine::start_thread([shared = shared_] { shared->watch(); });
    } catch (...) {
        shared_->leave();
        caller_.join();
        throw;
    }
}

OwnRunner::~OwnRunner() {
    const bool is_idle = shared_->leave();
    watcher_.join();
    if (is_idle)
        caller_.join();
    else
        caller_.detach();
}

void OwnRunner::start(UnitRun& run) noexcept {
    shared_->start(run);
}

void OwnRunner::note_cancel() noexcept {
    shared_->note_cancel();
}

void OwnRunner::stop(std::uint32_t /*processor*/) noexcept {
    shared_->stop();
}

void OwnRunner::begin_trial(std::uint32_t /*processor*/) noexcept {
    shared_->begin_trial();
}

} // namespace overtake::coordination
