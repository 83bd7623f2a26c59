// SPDX-License-Identifier: MIT
#include "engine/process_task_scheduler.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "engine/probes.hpp"
#include "job_tag.hpp"

namespace overtake::engine {

namespace {

ovt_sched_settings checked_settings(const SchedulerOptions& options) {
    ovt_sched_settings settings = options.settings;
    for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
        if (const u64 value = ovt_setting_get(setting, &settings); value < setting->least)
            throw Error(EINVAL, fmt::format("engine: {} is {}, but at least {} is needed",
                                            setting->noun, value, setting->least));
    settings.policy = ovt_sched_policy_find(options.policy.c_str());
    if (!settings.policy)
        throw Error(EINVAL, fmt::format("engine: no policy named '{}'", options.policy));
    return settings;
}

std::unique_ptr<Queue> open_queue(Device& device, const SchedulerOptions& options) {
    QueueOptions wanted;
    wanted.max_priority = options.max_priority;
    wanted.core_limit = options.core_limit;
    wanted.interruptible = options.interruptible;
    return device.create_queue(wanted);
}

} // namespace

ProcessTaskScheduler::ProcessTaskScheduler(std::shared_ptr<Device> device,
                                           const SchedulerOptions& options, SchedulerHost& host)
    : TaskSchedulerInterface(std::move(device), options, host), queue_cores_(cores_),
      lines_(cores_), given_(cores_), next_tag_(options.first_tag),
      queue_(*device_, open_queue(*device_, options), options.record) {
    const ovt_sched_settings settings = checked_settings(options_);
    ovt_sched_init(&sched_, cores_, &settings);
    sched_.cores_of = [](const ovt_sched_task* task) { return Run::cores_of(*task); };
    ovt_sched_add_queue(&sched_, &library_queue_, queue_cores_.data());
    ovt_sched_add_process(&sched_, &process_, &library_queue_, lines_.data());
}

// Ends

void ProcessTaskScheduler::gather(std::int64_t deadline_ns) {
    const auto end_segment = [this](Run& run, const Completion& job) {
        TaskSegmentRecord& record = run.records_[run.task_.segment];
        record.job = job;
        record.end_ns = job.end_ns;
        const std::size_t segment = run.task_.segment;
        count_fcs(run, segment, false);
        if (job.status == 0)
            run.estimate(segment).record(
                run.is_group(segment) ? run.segments_[segment].work->alone_ns() : job.executed_ns);
        ends_.push_back({&run, job.status});
    };
    while (queue_.reap(deadline_ns, end_segment) != 0)
        deadline_ns = 0;
}

void ProcessTaskScheduler::cpu_ended(Run& run, std::int32_t status, std::uint64_t executed_ns) {
    if (!run.live_self_)
        return;
    const std::uint64_t now = now_ns();
    if (failed_ != 0) {
        probe::task_end(&run.task_, now, -failed_);
        return end_live(run, -failed_, now);
    }
    run.records_[run.task_.segment].end_ns = now;
    probe::task_cpu_done(&run.task_, now, run.task_.segment, status);
    if (status == 0)
        run.segments_[run.task_.segment].estimate->record(executed_ns);
    ends_.push_back({&run, status});
}

std::vector<ProcessTaskScheduler::End>::const_iterator ProcessTaskScheduler::earliest() const {
    return std::ranges::min_element(
        ends_, {}, [](const End& end) { return end.run->task_.dispatch_sequence; });
}

const Run* ProcessTaskScheduler::first_end() const {
    return ends_.empty() ? nullptr : earliest()->run;
}

void ProcessTaskScheduler::handle_first_end() {
    const auto first = earliest();
    const End over = *first;
    ends_.erase(first);
    if (over.status != 0)
        over.run->failure_ = over.status;
    const std::uint64_t now = now_ns();
    ovt_sched_task& task = over.run->task_;
    ovt_sched_action action;
    if (ovt_sched_segment_ended(&sched_, &task, over.status == 0, now, &action))
        carry_out(action);
    else if (task.state == OVT_SCHED_READY)
        probe::task_ready(&task, now);
}

void ProcessTaskScheduler::handle_ends() {
    while (first_end())
        handle_first_end();
}

// Requests

void ProcessTaskScheduler::admit(Run& run) {
    handle_ends();
    if (ends_.capacity() < live())
        ends_.reserve(2 * live() + 16);
    run.prepare(process_);
    const std::uint64_t now = now_ns();
    probe::task_arrive(&run.task_, now, &sched_, run.options_.model, run.options_.cores,
                       run.options_.width);
    ovt_sched_arrive(&sched_, &run.task_, now);
}

void ProcessTaskScheduler::cancel(Run& run) {
    handle_ends();
    ovt_sched_action action;
    if (!run.live_self_)
        run.is_cancelled_early_ = true;
    else if (failed_ == 0 && ovt_sched_cancel(&sched_, &run.task_, &action))
        carry_out(action);
}

void ProcessTaskScheduler::dispatch() {
    if (failed_ != 0)
        return;
    ovt_sched_action action;
    for (;;) {
        handle_ends(); // also the jobs that the device has refused
        if (!ovt_sched_next(&sched_, now_ns(), &action))
            return;
        carry_out(action);
    }
}

/// Cancels all jobs and waits for their ends: a device that still works writes into memory that
/// belongs to the callers again when their runs end.
void ProcessTaskScheduler::stop_jobs() noexcept {
    if (!has_real_time())
        return;
    try {
        queue_.cancel_all();
        while (queue_.in_flight() != 0)
            queue_.reap(deadline_never, [](const Run&, const Completion&) {});
    } catch (const std::exception&) { // the device does not work
    }
}

void ProcessTaskScheduler::fail(int code) {
    failed_ = code;
    stop_jobs();
    queue_.forget_all();
    ends_.clear();
    for (const Run* run = first_live(); run; run = run->live_behind_)
        if (!is_with_worker(*run))
            probe::task_end(&run->task_, now_ns(), -code);
    end_all(-code);
}

// The scheduler's actions

void ProcessTaskScheduler::carry_out(const ovt_sched_action& action) {
    Run& run = Run::of(action.task);
    if (action.segment == 0 &&
        (action.type == OVT_SCHED_SUBMIT || action.type == OVT_SCHED_RUN_CPU))
        probe::task_dispatch(&run.task_);
    switch (action.type) {
    case OVT_SCHED_SUBMIT:
        submit(run, action);
        return;
    case OVT_SCHED_RUN_CPU:
        run.records_[action.segment].start_ns = now_ns();
        probe::task_cpu_start(&run.task_, run.records_[action.segment].start_ns, action.segment);
        host_.run_cpu(run, action.segment);
        return;
    case OVT_SCHED_CANCEL_JOB:
        queue_.cancel(run.tag_);
        return;
    case OVT_SCHED_OVERDUE:
        return;
    case OVT_SCHED_END:
        end(run);
        return;
    }
}

/// Chooses those of `cores` with the fewest FCs of this scheduler's tasks on several cores.
void ProcessTaskScheduler::settle_cores(Run& run, std::uint64_t cores) {
    run.cores_.clear();
    while (run.cores_.size() < run.options_.width && cores != 0) {
        unsigned first = 0;
        for (unsigned core = 1; core <= cores_; core++)
            if ((cores >> (core - 1) & 1) != 0 &&
                (first == 0 || given_[core - 1] < given_[first - 1]))
                first = core;
        run.cores_.push_back(first);
        cores &= ~(std::uint64_t{1} << (first - 1));
    }
}

/// Counts the FCs of a task on several cores when its job begins (`more`) or is over.
void ProcessTaskScheduler::count_fcs(const Run& run, std::size_t segment, bool more) {
    if (run.options_.width < 2)
        return;
    const TaskSegment& of = run.segments_[segment];
    const std::size_t parts = run.is_group(segment) ? of.group.parts : 1;
    const std::uint64_t fcs = (run.is_group(segment) ? of.group.fc_count : of.fc_count) / parts;
    for (std::size_t i = 0; i < parts; i++)
        given_[run.cores_[i] - 1] += more ? fcs : -fcs;
}

void ProcessTaskScheduler::submit_job(Run& run, std::size_t segment, const Job& job) {
    const TaskSegment& of = run.segments_[segment];
    if (run.is_group(segment))
        queue_.submit(run.job_, *of.work, of.number,
                      std::span<const unsigned>(run.cores_).first(of.group.parts), job);
    else
        queue_.submit(run.job_, *of.work, of.number, job);
}

void ProcessTaskScheduler::submit(Run& run, const ovt_sched_action& action) {
    const bool is_wide = run.options_.width > 1;
    if (is_wide && action.core == 0)
        settle_cores(run, action.cores);
    const unsigned first_core =
        is_wide ? run.cores_[0] : static_cast<unsigned>(std::countr_zero(action.cores)) + 1;
    unsigned core = first_core;
    run.tag_ = next_tag_ ? (*next_tag_)++ : next_job_tag();
    Job job;
    job.tag = run.tag_;
    job.priority = run.options_.priority;
    job.custom_id = run.options_.custom_id;
    job.model = run.options_.model;
    job.deadline_ns = deadline_never;
    if (is_wide) {
        job.core = run.is_group(action.segment) ? core_any : first_core;
    } else if (action.core == 0) {
        job.cores = action.cores;
        job.chosen_core = &core;
    } else {
        job.core = action.core;
    }
    run.records_[action.segment].start_ns = now_ns();
    probe::task_job(&run.task_, run.records_[action.segment].start_ns, action.segment, run.tag_,
                    is_wide ? taken_cores(run) : 0);
    count_fcs(run, action.segment, true);
    try {
        submit_job(run, action.segment, job);
    } catch (const Error& refused) {
        run.set_error(refused.what());
        ends_.push_back({&run, -refused.code()});
        count_fcs(run, action.segment, false);
        core = first_core; // the core on which it ends
    } catch (const std::bad_alloc&) {
        ends_.push_back({&run, -ENOMEM});
        count_fcs(run, action.segment, false);
        core = first_core;
    }
    if (action.core == 0)
        place(run, core);
    probe::task_submit(&run.task_, run.records_[action.segment].start_ns, action.segment, run.tag_,
                       action.core != 0 ? action.core : core);
    host_.submitted(run, action.segment, run.tag_);
}

std::uint64_t ProcessTaskScheduler::taken_cores(const Run& run) {
    std::uint64_t cores = 0;
    for (const unsigned core : run.cores_)
        cores |= std::uint64_t{1} << (core - 1);
    return cores;
}

/// Reports to the scheduler that the run's cores are settled.
void ProcessTaskScheduler::place(Run& run, unsigned core) {
    if (run.options_.width < 2)
        return ovt_sched_placed(&sched_, &run.task_, core);
    ovt_sched_placed_on(&sched_, &run.task_, core, taken_cores(run));
}

void ProcessTaskScheduler::end(Run& run) {
    const bool cancelled = run.task_.cancelled;
    const std::int32_t status = run.failure_ != 0 ? run.failure_ : (cancelled ? -ECANCELED : 0);
    const std::uint64_t now = now_ns();
    probe::task_end(&run.task_, now, status);
    end_live(run, status, now);
}

} // namespace overtake::engine
