// SPDX-License-Identifier: MIT
#include "engine/service_task_scheduler.hpp"

#include <cerrno>
#include <exception>
#include <vector>

#include <fmt/format.h>

#include "monotonic_clock.hpp"
#include "network/recorder.hpp"

namespace overtake::engine {

namespace {

std::unique_ptr<ServiceQueue> open_service_queue(Device& device, const SchedulerOptions& options) {
    ServiceQueueOptions wanted;
    wanted.max_priority = options.max_priority;
    wanted.core_limit = options.core_limit;
    wanted.workers = options.settings.workers;
    wanted.interruptible = options.interruptible;
    return device.create_service_queue(wanted);
}

} // namespace

ServiceTaskScheduler::ServiceTaskScheduler(std::shared_ptr<Device> device,
                                           const SchedulerOptions& options, SchedulerHost& host)
    : TaskSchedulerInterface(std::move(device), options, host),
      next_tag_(options.first_tag.value_or(1)), queue_(open_service_queue(*device_, options)) {
    if (checked_record_level(options.record) != 0)
        say_not_recorded("tasks of service mode are the device's");
}

void ServiceTaskScheduler::gather(std::int64_t deadline_ns) {
    for (const ServiceEvent& event : queue_->reap(deadline_ns)) {
        Run* const found = tasks_.find(event.tag);
        if (!found)
            continue;
        Run& run = *found;
        if (event.type == ServiceEvent::Type::ended) {
            tasks_.take(event.tag);
            end(run, event);
            continue;
        }
        run.task_.segment = event.segment;
        run.records_[event.segment].start_ns = event.start_ns;
        host_.run_cpu(run, event.segment);
    }
}

void ServiceTaskScheduler::end(Run& run, const ServiceEvent& event) {
    run.task_.dispatch_time = event.dispatched_ns;
    run.task_.placed_core = event.core;
    for (std::size_t i = 0; i < event.segments.size() && i < run.segments_.size(); i++) {
        const Completion& segment = event.segments[i];
        const TaskSegment& own = run.segments_[i];
        TaskSegmentRecord& record = run.records_[i];
        record.start_ns = segment.queued_ns;
        record.end_ns = segment.end_ns;
        if (own.on_bpu())
            record.job = segment;
        // Only the device knows the time that a group takes alone.
        if (segment.status == 0 && segment.end_ns != 0 && !run.is_group(i))
            own.estimate->record(segment.executed_ns);
        if (own.on_bpu() && segment.queued_ns != 0)
            host_.submitted(run, i, segment.tag);
    }
    end_live(run, event.status, event.ended_ns);
}

void ServiceTaskScheduler::cpu_ended(Run& run, std::int32_t status, std::uint64_t /*executed_ns*/) {
    if (!run.live_self_)
        return;
    if (failed_ == 0)
        return queue_->cpu_done(run.tag_, run.task_.segment, status);
    try { // a device that still works need not wait for the segment
        queue_->cpu_done(run.tag_, run.task_.segment, -ECANCELED);
    } catch (const std::exception&) {
    }
    end_live(run, -failed_, now_ns());
}

void ServiceTaskScheduler::admit(Run& run) {
    std::vector<ServiceSegment> segments(run.segments_.size());
    for (std::size_t i = 0; i < segments.size(); i++) {
        const TaskSegment& own = run.segments_[i];
        if (own.on_bpu()) {
            Job job;
            if (run.is_group(i))
                own.work->describe_group(own.number, {}, job);
            else
                own.work->describe(own.number, job);
            segments[i].parts = job.parts;
            segments[i].stages = job.stages;
            segments[i].fcs = job.fcs;
            segments[i].bindings = job.bindings;
            segments[i].scratch_bytes = job.scratch_bytes;
        } else {
            segments[i].cpu_key = own.estimate->id();
            segments[i].expected_ns = own.estimate->ns();
        }
    }
    run.tag_ = next_tag_++;
    ServiceTask task;
    task.tag = run.tag_;
    task.segments = segments;
    task.priority = run.options_.priority;
    task.custom_id = run.options_.custom_id;
    task.model = run.options_.model;
    task.core = run.options_.core;
    task.deadline_ns = run.options_.deadline_ns;
    queue_->submit(task);
    tasks_.add(run.job_, run.tag_);
}

void ServiceTaskScheduler::cancel(Run& run) {
    if (!run.live_self_)
        run.is_cancelled_early_ = true;
    else if (failed_ == 0)
        queue_->cancel(run.tag_);
}

void ServiceTaskScheduler::dispatch() {
    if (failed_ == 0)
        gather(0);
}

/// Does the same as ProcessTaskScheduler::stop_jobs(), but waits for 2 s at most: the event that it
/// waits for may be one that was lost.
void ServiceTaskScheduler::stop_tasks() noexcept {
    constexpr std::int64_t patience_ns = 2'000'000'000;
    if (!has_real_time())
        return;
    try {
        std::size_t on_device = 0;
        tasks_.for_each([&](std::uint64_t tag, const Run& run) {
            queue_->cancel(tag);
            on_device += !is_with_worker(run);
        });
        const auto deadline = static_cast<std::int64_t>(monotonic_ns()) + patience_ns;
        while (on_device != 0 && static_cast<std::int64_t>(monotonic_ns()) < deadline)
            for (const ServiceEvent& event : queue_->reap(deadline)) {
                const Run* const found = tasks_.find(event.tag);
                if (!found || is_with_worker(*found))
                    continue;
                if (event.type == ServiceEvent::Type::ended)
                    on_device--;
                else
                    queue_->cpu_done(event.tag, event.segment, -ECANCELED);
            }
    } catch (const std::exception&) { // the device does not work
    }
}

void ServiceTaskScheduler::fail(int code) {
    failed_ = code;
    stop_tasks();
    tasks_.clear();
    end_all(-code);
}

} // namespace overtake::engine
