// SPDX-License-Identifier: MIT
#include "engine/scheduler.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "monotonic_clock.hpp"

namespace overtake::engine {

namespace {

ovt_sched_config config_of(const SchedulerOptions& options, unsigned cores) {
    const auto at_least_one = [](std::uint32_t value, const char* what) {
        if (value == 0)
            throw Error(EINVAL, fmt::format("engine: {} is 0, but at least 1 is needed", what));
    };
    at_least_one(options.slots, "slots");
    at_least_one(options.task_limit, "the task limit");
    at_least_one(options.worker_count, "the number of CPU workers");
    const ovt_sched_policy* policy = ovt_sched_policy_find(options.policy.c_str());
    if (!policy)
        throw Error(EINVAL, fmt::format("engine: no policy named '{}'", options.policy));
    return {
        .policy = policy,
        .core_count = cores,
        .slots = options.slots,
        .task_limit = options.task_limit,
        .worker_count = options.worker_count,
        .threshold_percent = options.threshold_percent,
        .insert_max_time = options.insert_max_time_ns,
        .wait_dispatch_time = options.wait_dispatch_time_ns,
    };
}

std::unique_ptr<Queue> open_queue(Device& device, const SchedulerOptions& options) {
    QueueOptions wanted;
    wanted.max_priority = options.max_priority;
    wanted.core_limit = options.core_limit;
    wanted.interruptible = options.interruptible;
    return device.create_queue(wanted);
}

} // namespace

Scheduler::Scheduler(std::shared_ptr<Device> device, const SchedulerOptions& options,
                     SchedulerHost& host)
    : device_(std::move(device)), host_(host), options_(options),
      cores_(device_->info().core_count), clock_(device_->manual_clock()), queue_cores_(cores_),
      next_tag_(options.first_tag), queue_(open_queue(*device_, options)) {
    const ovt_sched_config config = config_of(options_, cores_);
    ovt_sched_init(&sched_, &config);
    ovt_sched_add_queue(&sched_, &library_queue_, queue_cores_.data());
    ovt_sched_add_process(&sched_, &process_, &library_queue_);
}

Scheduler::~Scheduler() = default;

std::uint64_t Scheduler::now_ns() const {
    return clock_ ? clock_->now_ns() : monotonic_ns();
}

// Ends

void Scheduler::gather(std::int64_t deadline_ns) {
    std::array<Completion, 64> completions;
    std::size_t count = queue_->reap(completions, deadline_ns);
    while (count != 0) {
        for (std::size_t i = 0; i < count; i++) {
            const auto job = jobs_.find(completions[i].tag);
            if (job == jobs_.end())
                continue;
            Run& run = *job->second;
            jobs_.erase(job);
            StepRecord& record = run.records_[run.task_.segment];
            record.job = completions[i];
            record.end_ns = completions[i].end_ns;
            if (completions[i].status == 0)
                run.steps_[run.task_.segment].estimate->record(completions[i].executed_ns);
            ends_.push_back({&run, completions[i].status});
        }
        count = queue_->reap(completions, 0);
    }
}

void Scheduler::cpu_ended(Run& run, std::int32_t status, std::uint64_t executed_ns) {
    if (!live_.contains(&run))
        return; // the device has failed meanwhile
    run.records_[run.task_.segment].end_ns = now_ns();
    if (status == 0)
        run.steps_[run.task_.segment].estimate->record(executed_ns);
    ends_.push_back({&run, status});
}

std::vector<Scheduler::End>::const_iterator Scheduler::earliest() const {
    return std::ranges::min_element(
        ends_, {}, [](const End& end) { return end.run->task_.dispatch_sequence; });
}

const Run* Scheduler::first_end() const {
    return ends_.empty() ? nullptr : earliest()->run;
}

void Scheduler::handle_first_end() {
    const auto first = earliest();
    const End over = *first;
    ends_.erase(first);
    if (over.status != 0)
        over.run->failure_ = over.status;
    ovt_sched_action action;
    if (ovt_sched_segment_ended(&sched_, &over.run->task_, over.status == 0, &action))
        carry_out(action);
}

// What is asked for

void Scheduler::check(const RunOptions& options) const {
    if (options.priority > options_.max_priority)
        throw Error(EPERM, fmt::format("task: priority {}, but the engine was made for at most {}",
                                       options.priority, options_.max_priority));
    if (options.core > cores_)
        throw Error(EINVAL, fmt::format("task: there is no core {}, the device has {}",
                                        options.core, cores_));
}

void Scheduler::arrive(std::shared_ptr<Run> arriving) {
    Run& run = *arriving;
    try {
        check(run.options_);
    } catch (const Error& refused) {
        run.set_error(refused.what());
        run.finish(-refused.code(), now_ns());
        ended_.push_back(std::move(arriving));
        return;
    }
    live_.emplace(&run, std::move(arriving));
    run.prepare(process_);
    ovt_sched_arrive(&sched_, &run.task_, now_ns());
}

void Scheduler::cancel(Run& run) {
    ovt_sched_action action;
    if (live_.contains(&run) && ovt_sched_cancel(&sched_, &run.task_, &action))
        carry_out(action);
}

void Scheduler::cancel_all() {
    std::vector<Run*> all;
    for (const auto& [run, shared] : live_)
        all.push_back(shared.get());
    for (Run* run : all)
        cancel(*run);
}

void Scheduler::dispatch() {
    ovt_sched_action action;
    for (;;) {
        while (first_end()) // what the device has refused
            handle_first_end();
        if (!ovt_sched_next(&sched_, now_ns(), &action))
            return;
        carry_out(action);
    }
}

void Scheduler::fail(int code) {
    for (auto& [key, run] : live_) {
        run->finish(-code, now_ns());
        ended_.push_back(std::move(run));
    }
    live_.clear();
    jobs_.clear();
    ends_.clear();
}

// What the scheduler wants

void Scheduler::carry_out(const ovt_sched_action& action) {
    Run& run = Run::of(action.task);
    switch (action.type) {
    case OVT_SCHED_SUBMIT:
        submit(run, action);
        return;
    case OVT_SCHED_RUN_CPU:
        run.records_[action.segment].start_ns = now_ns();
        host_.run_cpu(run, action.segment);
        return;
    case OVT_SCHED_CANCEL_JOB:
        queue_->cancel(run.tag_);
        return;
    case OVT_SCHED_END:
        end(run);
        return;
    }
}

void Scheduler::submit(Run& run, const ovt_sched_action& action) {
    const Step& step = run.steps_[action.segment];
    unsigned core = static_cast<unsigned>(std::countr_zero(action.cores)) + 1;
    run.tag_ = next_tag_++;
    Job job;
    job.tag = run.tag_;
    job.fcs = step.fcs;
    job.bindings = step.bindings;
    job.scratch_bytes = step.scratch_bytes;
    job.priority = run.options_.priority;
    job.custom_id = run.options_.custom_id;
    job.core = action.core;
    job.deadline_ns = deadline_never;
    if (action.core == 0) {
        job.cores = action.cores;
        job.chosen_core = &core;
    }
    run.records_[action.segment].start_ns = now_ns();
    try {
        queue_->submit({&job, 1});
        jobs_.emplace(run.tag_, &run);
    } catch (const Error& refused) {
        ends_.push_back({&run, -refused.code()});
    }
    if (action.core == 0)
        ovt_sched_placed(&sched_, &run.task_, core);
    host_.submitted(run, action.segment, run.tag_);
}

void Scheduler::end(Run& run) {
    const bool cancelled = run.task_.cancelled;
    run.finish(run.failure_ != 0 ? run.failure_ : (cancelled ? -ECANCELED : 0), now_ns());
    const auto live = live_.find(&run);
    ended_.push_back(std::move(live->second));
    live_.erase(live);
}

} // namespace overtake::engine
