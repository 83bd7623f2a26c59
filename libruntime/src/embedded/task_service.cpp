// SPDX-License-Identifier: MIT
#include "embedded/task_service.hpp"

#include <cerrno>

#include <fmt/format.h>

#include "embedded/firmware_host.hpp"
#include "overtake/settings.hpp"

namespace overtake {

namespace {

HostedTask& hosted(ovt_service_task* task) {
    return *static_cast<HostedTask*>(task);
}

HostedProcess& hosted(ovt_service_process* process) {
    return *static_cast<HostedProcess*>(process);
}

EmbeddedJob* job_of(const ovt_service_task* task, u32 segment) {
    return static_cast<const HostedTask*>(task)->jobs[segment].get();
}

EventType event_type(ovt_service_step step) {
    switch (step) {
    case OVT_SERVICE_ARRIVED:
        return EventType::task_arrive;
    case OVT_SERVICE_DISPATCHED:
        return EventType::task_dispatch;
    case OVT_SERVICE_OVERDUE:
        return EventType::task_overdue;
    case OVT_SERVICE_READY:
        return EventType::task_ready;
    case OVT_SERVICE_CPU_STARTED:
        return EventType::task_cpu_start;
    case OVT_SERVICE_CPU_DONE:
        return EventType::task_cpu_done;
    case OVT_SERVICE_ENDED:
        break;
    }
    return EventType::task_end;
}

ovt_sched_settings settings_of_service(const ServiceOptions& options) {
    ovt_sched_settings settings = settings_of(options.settings);
    settings.policy = ovt_sched_policy_find(options.policy.c_str());
    if (!settings.policy)
        throw Error(EINVAL, fmt::format("service mode: no policy named '{}'", options.policy));
    for (u32 i = 0; const ovt_setting* setting = ovt_setting_at(i); i++)
        if (ovt_setting_get(setting, &settings) < setting->least)
            throw Error(EINVAL, "service mode: at least one slot and a task limit of 1 are needed");
    return settings;
}

} // namespace

TaskService::TaskService(FirmwareHost& host, const ServiceOptions& options, unsigned cores)
    : host_(host), settings_(options.settings), cores_(cores) {
    const ovt_sched_settings settings = settings_of_service(options);
    calls_ = {.submit_job = submit_job,
              .place = place,
              .cancel_job = cancel_job,
              .wake = wake,
              .release = release,
              .note = note};
    ovt_service_init(&service_, cores, &settings, &calls_, cores_.data());
    service_.own = this;
}

TaskService& TaskService::of(const ovt_service_process* process) {
    return *static_cast<Service*>(process->service)->own;
}

void TaskService::open(HostedProcess& process, std::uint32_t workers, bool keeps_place) {
    process.lines.resize(cores_.size());
    ovt_service_open(&service_, &process, workers, keeps_place, process.lines.data());
}

void TaskService::submit(HostedProcess& process, HostedTask& task, std::uint64_t now_ns) {
    tasks_++;
    task.segments = task.segment_storage.data();
    task.keys = task.key_storage.data();
    task.results = task.result_storage.data();
    if (!task.core_storage.empty())
        task.cores = task.core_storage.data();
    if (task.core_storage.size() > 1) {
        task.span.width = static_cast<u32>(task.core_storage.size());
        task.span.gaps = task.gap_storage.data();
        task.sched.span = &task.span;
    }
    ovt_service_submit(&process, &task, now_ns);
}

void TaskService::job_ended(EmbeddedJob& job, Completion completion) {
    HostedTask& task = *job.task;
    const u32 segment = task.sched.segment;
    if (job.cancel_requested) {
        // The slot is used up with the CANCEL, so there is none for another job.
        task.slots--;
        if (completion.status == 0)
            completion.status = job.cancel_error;
    }
    if (job.cancel_requested || task.jobs_left == 0)
        host_.give_back_slots(*job.owner, task);
    ovt_service_job_ended(&task, &completion,
                          job.group ? job.group->alone_ns : completion.executed_ns);
    task.jobs[segment].reset();
}

void TaskService::forget(HostedTask& task) {
    tasks_--;
    host_.give_back_slots(*hosted(ovt_service_process_of(&task)).context, task);
}

// The service's calls

u32 TaskService::submit_job(ovt_service_task* task, u32 segment, u32 core, u64 cores) {
    TaskService& service = of(ovt_service_process_of(task));
    HostedTask& own = hosted(task);
    const std::shared_ptr<EmbeddedJob>& job = own.jobs[segment];
    own.jobs_left--;
    job->tag = service.next_job_tag_++;
    for (std::size_t i = 0; i < job->parts.size(); i++)
        job->parts[i].core = task->cores[i];
    job->core = job->group ? core_any : core;
    job->open_cores = core == 0 ? cores : 0;
    service.host_.submit_prepared(*hosted(ovt_service_process_of(task)).context, job);
    return core != 0 ? core : job->core;
}

u32 TaskService::place(ovt_service_task* task, u64 cores) {
    TaskService& service = of(ovt_service_process_of(task));
    return ovt_fw_place(&service.host_.firmware_, &service.context_, cores);
}

void TaskService::cancel_job(ovt_service_task* task) {
    EmbeddedJob* job = job_of(task, task->sched.segment);
    if (!job)
        return;
    const ovt_service_process* process = ovt_service_process_of(task);
    FirmwareHost& host = of(process).host_;
    if (process->gone)
        host.stop_job(*job);
    else
        host.request_cancel(*job, -ECANCELED);
}

void TaskService::wake(ovt_service_process* process) {
    hosted(process).wake();
}

void TaskService::release(ovt_service_task* task) {
    HostedProcess& process = hosted(ovt_service_process_of(task));
    HostedTask& own = hosted(task);
    of(&process).host_.mutex_.count_steps(1);
    of(&process).forget(own);
    own.next_released = process.released;
    process.released = &own;
    if (ovt_service_is_idle(&process))
        process.context->changed.notify_all();
}

void TaskService::note(const ovt_service_task* task, ovt_service_step step) {
    FirmwareHost& host = of(ovt_service_process_of(task)).host_;
    host.mutex_.count_steps(1);
    host.tell_task(event_type(step), *static_cast<const HostedTask*>(task), host.now());
}

} // namespace overtake
