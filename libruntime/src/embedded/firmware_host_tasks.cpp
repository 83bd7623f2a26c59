// SPDX-License-Identifier: MIT
//
// FirmwareHost: the functions for service mode.
#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "embedded/firmware_host.hpp"
#include "monotonic_clock.hpp"

namespace overtake {

namespace {

void free_released(HostedProcess& process) {
    while (process.released) {
        const std::unique_ptr<HostedTask> task(process.released);
        process.released = task->next_released;
    }
}

unsigned prepare_jobs(HostedTask& task) {
    unsigned count = 0;
    for (const std::shared_ptr<EmbeddedJob>& job : task.jobs) {
        if (!job)
            continue;
        job->task = &task;
        count++;
    }
    return count;
}

/// Returns the number of steps that count for `things` small things, such as the records of
/// segments.
unsigned steps_of(unsigned things) {
    constexpr unsigned things_per_step = 16;
    return things / things_per_step;
}

[[noreturn]] void refuse_room(s32 error, std::uint64_t tag) {
    if (error == -EEXIST)
        throw Error(EEXIST, fmt::format("task: tag {} is in use; reap the task's end first", tag));
    throw Error(ENOSPC, fmt::format("task: {} tasks of one process are the most there may be until "
                                    "their ends are reaped",
                                    OVT_SERVICE_MAX_TASKS));
}

} // namespace

void FirmwareHost::open_process(HostedProcess& process, std::uint32_t workers, bool keeps_place) {
    const Lock lock(mutex_);
    service_->open(process, workers, keeps_place);
}

void FirmwareHost::close_process(HostedProcess& process) {
    {
        Lock lock(mutex_);
        EmbeddedContext& context = *process.context;
        // Ends the process's tasks in slices, and lets tasks of other processes go on between two
        // slices.
        while (ovt_service_abandon(&process, now()))
            if (!options_.manual_clock)
                pump(lock);
        start_closing(context); // a running FC ends at its next step
        pump(lock);
        // Under a manual clock, there may be no other thread that handles ends.  No task may be
        // dispatched here.
        lock.wait(context.changed, [&] {
            if (options_.manual_clock)
                service_->handle_ends(now());
            return context.gone && ovt_service_is_idle(&process);
        });
        wait_for_context(lock, context);
        ovt_service_close(&process);
    }
    free_released(process);
}

void FirmwareHost::submit_task(HostedProcess& process, std::unique_ptr<HostedTask> task) {
    task->jobs_left = prepare_jobs(*task);
    Lock lock(mutex_);
    if (const s32 error = ovt_service_check_room(&process, task->tag); error != 0)
        refuse_room(error, task->tag);
    EmbeddedClient& client = *process.context->client;
    if (task->jobs_left != 0) {
        // The jobs run one after the other, and each passes the slots on to the next.
        if (client.jobs >= OVERTAKE_MAX_CLIENT_JOBS ||
            !ovt_fw_reserve(&firmware_, 2)) // SUBMIT, CANCEL
            throw Error(ENOSPC, fmt::format("task {}: {}", task->tag,
                                            limit_text(OVERTAKE_LIMIT_CLIENT_JOBS,
                                                       OVERTAKE_MAX_CLIENT_JOBS, client.jobs)));
        client.jobs++;
        task->slots = 2;
    }
    mutex_.count_steps(steps_of(task->sched.segment_count)); // each segment has a record
    service_->submit(process, *task.release(), now());
    pump(lock);
}

void FirmwareHost::take_events(HostedProcess& process,
                               const std::function<bool(const ovt_service_task& task)>& tell) {
    for (bool is_more = true; is_more;) {
        HostedTask* collected = nullptr; // freed without the lock
        is_more = take_some_events(process, tell, collected);
        while (collected) {
            const std::unique_ptr<HostedTask> task(collected);
            collected = task->next_released;
        }
    }
}

/// Takes as many events as one hold may report.  Returns true if there may be more.
bool FirmwareHost::take_some_events(HostedProcess& process,
                                    const std::function<bool(const ovt_service_task& task)>& tell,
                                    HostedTask*& collected) {
    const Lock lock(mutex_);
    while (ovt_service_task* task = ovt_service_next_event(&process)) {
        if (mutex_.is_time_to_pause())
            return true;
        if (!tell(*task))
            return false;
        mutex_.count_steps(1);
        if (!ovt_service_has_ended(task)) {
            ovt_service_told(task);
            continue;
        }
        mutex_.count_steps(steps_of(task->sched.segment_count)); // each segment has a result
        ovt_service_collect(task);
        auto& own = static_cast<HostedTask&>(*task);
        service_->forget(own);
        own.next_released = collected;
        collected = &own;
    }
    return false;
}

s32 FirmwareHost::cpu_done(HostedProcess& process, std::uint64_t tag, std::uint32_t segment,
                           s32 status) {
    Lock lock(mutex_);
    ovt_service_task* task = ovt_service_find(&process, tag);
    if (!task)
        return -ENOENT;
    const s32 error = ovt_service_cpu_done(task, segment, status, now());
    pump(lock);
    return error;
}

bool FirmwareHost::cancel_task(HostedProcess& process, std::uint64_t tag) {
    Lock lock(mutex_);
    ovt_service_task* task = ovt_service_find(&process, tag);
    if (!task || ovt_service_cancel(task, now()) != 0)
        return false;
    pump(lock);
    return true;
}

FirmwareHost::ProcessStatus FirmwareHost::status_of(const HostedProcess& process) {
    const Lock lock(mutex_);
    return {.counts = ovt_service_count(&process),
            .ended = process.ended,
            .waited_ns = process.waited_ns,
            .overdue = process.overdue};
}

/// Submits a job of a task, for which there is room.
void FirmwareHost::submit_prepared(EmbeddedContext& owner,
                                   const std::shared_ptr<EmbeddedJob>& job) {
    EmbeddedContext& context = service_->context();
    job->deadline_ns = ovt_job_deadline(std::uint64_t{deadline_never}, now(),
                                        options_.queue_timeout_ns, job_max_ns_);
    job->deadline_node.value() = {job->deadline_ns, job.get()};
    deadlines_.insert(std::move(job->deadline_node));
    job->owner = &owner;
    job->context = &context;
    job->held_until_ended = job;
    job->keeps_slot = true;
    owner.in_flight++;
    if (job->deadline_ns < timer_waits_for_)
        timer_wake_.notify_one();
    if (job->open_cores != 0)
        job->core = ovt_fw_place(&firmware_, &context, job->open_cores);
    ovt_fw_submit(&firmware_, job.get(), now());
}

/// Cancels the job, and stops its running FC at the FC's next step.
void FirmwareHost::stop_job(EmbeddedJob& job) {
    request_cancel(job, -ECANCELED);
    ovt_fw_stop(&firmware_, &job, monotonic_ns());
}

/// Releases the slots of a task that submits no more jobs.
void FirmwareHost::give_back_slots(EmbeddedContext& context, HostedTask& task) {
    if (task.slots == 0)
        return;
    ovt_fw_unreserve(&firmware_, task.slots);
    task.slots = 0;
    context.client->jobs--;
}

// Time

/// Steps the clock to every instant at which an event may happen to which the scheduler responds.
void FirmwareHost::step_service(Lock& lock, std::uint64_t now_ns) {
    for (;;) {
        settle_service(lock);
        if (manual_now_ == now_ns)
            return;
        // Makes the choices of this instant, and lets them begin.
        while (ovt_fw_advance(&firmware_, manual_now_) == OVT_ADVANCE_EVENTS)
            deliver_events();
        deliver_events();
        lock.wait(settled_, [&] { return ovt_fw_prepared(&firmware_, manual_now_); });
        const std::uint64_t next = std::min(next_instant(), next_deadline());
        if (next >= now_ns)
            return;
        step_manual_clock(lock, std::max(next, manual_now_));
        expire_deadlines();
    }
}

/// Handles everything of the present instant of a manual clock.
void FirmwareHost::settle_service(Lock& lock) {
    do
        pump(lock);
    while (service_->settle(now()));
}

/// Returns the next time at which pump() has work even if no function is called.
std::uint64_t FirmwareHost::next_instant() const {
    const std::uint64_t next = ovt_fw_next(&firmware_);
    return service_ ? std::min(next, service_->next_time()) : next;
}

} // namespace overtake
