// SPDX-License-Identifier: MIT
#include "engine/task_scheduler_interface.hpp"

#include <cerrno>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "monotonic_clock.hpp"

namespace overtake::engine {

TaskSchedulerInterface::TaskSchedulerInterface(std::shared_ptr<Device> device,
                                               SchedulerOptions options, SchedulerHost& host)
    : device_(std::move(device)), host_(host), options_(std::move(options)),
      cores_(device_->info().core_count), clock_(device_->manual_clock()) {}

TaskSchedulerInterface::~TaskSchedulerInterface() {
    while (first_live_) {
        const std::shared_ptr<Run> last_reference = std::move(first_live_->live_self_);
        first_live_ = last_reference->live_behind_;
    }
}

std::uint64_t TaskSchedulerInterface::now_ns() const noexcept {
    if (!clock_)
        return monotonic_ns();
    try {
        last_ns_ = clock_->now_ns();
    } catch (const std::exception&) { // the clock was the device's, which has failed
    }
    return last_ns_;
}

void TaskSchedulerInterface::check(const RunOptions& options) const {
    if (options.priority > options_.max_priority)
        throw Error(EPERM, fmt::format("task: priority {}, but the engine was made for at most {}",
                                       options.priority, options_.max_priority));
    if (options.core > cores_)
        throw Error(EINVAL, fmt::format("task: there is no core {}, the device has {}",
                                        options.core, cores_));
}

void TaskSchedulerInterface::arrive(std::shared_ptr<Run> arriving) {
    Run& run = *arriving;
    begin_live(std::move(arriving));
    // A task that arrives after the device has failed ends at once.
    std::int32_t status = failed_ != 0 ? -failed_ : run.is_cancelled_early_ ? -ECANCELED : 0;
    if (status == 0) {
        try {
            check(run.options_);
            admit(run);
        } catch (const Error& refused) {
            run.set_error(refused.what());
            status = -refused.code();
        } catch (const std::bad_alloc&) {
            status = -ENOMEM;
        }
    }
    if (status != 0)
        end_live(run, status, now_ns());
}

void TaskSchedulerInterface::cancel_all() {
    for (Run* run = first_live_; run;) {
        Run* const behind = run->live_behind_;
        cancel(*run);
        run = behind;
    }
}

void TaskSchedulerInterface::begin_live(std::shared_ptr<Run> run) {
    Run* const first = run.get();
    first->live_behind_ = first_live_;
    first->live_before_ = nullptr;
    if (first_live_)
        first_live_->live_before_ = first;
    first_live_ = first;
    live_++;
    first->live_self_ = std::move(run);
}

void TaskSchedulerInterface::end_live(Run& run, std::int32_t status, std::uint64_t ended_ns) {
    if (run.live_behind_)
        run.live_behind_->live_before_ = run.live_before_;
    (run.live_before_ ? run.live_before_->live_behind_ : first_live_) = run.live_behind_;
    live_--;
    run.finish(status, ended_ns);
    ended_.push(std::move(run.live_self_));
}

void TaskSchedulerInterface::end_all(std::int32_t status) {
    for (Run* run = first_live_; run;) {
        Run* const behind = run->live_behind_;
        if (!run->with_worker_)
            end_live(*run, status, now_ns());
        run = behind;
    }
}

} // namespace overtake::engine
