// SPDX-License-Identifier: MIT
#include "coordination/device_runner.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "engine/callback_thread.hpp"
#include "job_tag.hpp"
#include "overtake_isa.h"

namespace overtake::coordination {

namespace {

QueueOptions interruptible(QueueOptions options) {
    options.interruptible = true;
    return options;
}

/// Makes a program of one instruction that takes a cycle.
std::unique_ptr<Buffer> make_trial_program(Device& device) {
    overtake_insn nothing{};
    nothing.opcode = OVERTAKE_OP_DELAY;
    nothing.delay_cycles = 1;
    std::unique_ptr<Buffer> buffer = device.create_buffer(sizeof(nothing));
    std::memcpy(buffer->data(), &nothing, sizeof(nothing));
    return buffer;
}

bool is_of_processor(std::int32_t status) {
    return status == -EIO || status == -ENODEV;
}

/// Adds a job to the record of its run: the jobs of a run follow each other.
void add_to(Completion& all, const Completion& job) {
    const Completion before = all;
    all = job;
    if (before.core == 0) // it is the first
        return;
    all.queued_ns = before.queued_ns;
    all.start_ns = before.start_ns;
    all.executed_ns += before.executed_ns;
    all.preemptions += before.preemptions;
    all.fcs_done += before.fcs_done;
}

} // namespace

DeviceRunner::DeviceRunner(std::shared_ptr<Device> device, unsigned domain, QueueOptions options,
                           std::vector<Core> cores, RunnerHost& host, bool is_stepped,
                           unsigned record)
    : device_(std::move(device)), domain_(domain), host_(host),
      trial_program_(make_trial_program(*device_)),
      queue_(*device_, device_->create_queue(interruptible(options)), record) {
    for (const Core& core : cores) {
        cores_.push_back(std::make_unique<CoreState>());
        cores_.back()->core = core;
    }
    if (!is_stepped)
        thread_ = engine::start_thread([this] { this->run(); });
}

DeviceRunner::~DeviceRunner() {
    post([](Inbox& inbox) { inbox.is_stopping = true; });
    if (thread_.joinable())
        thread_.join();
}

DeviceRunner::CoreState& DeviceRunner::state_of(std::uint32_t processor) noexcept {
    return **std::ranges::find_if(
        cores_, [&](const auto& state) { return state->core.processor == processor; });
}

// From the coordinator's thread

template <class Write>
void DeviceRunner::post(Write write) noexcept {
    const std::lock_guard lock(mutex_);
    write(inbox_);
    if (!is_reaping_) {
        news_.notify_one();
        return;
    }
    try {
        queue_.interrupt();
    } catch (const Error&) { // the device has failed, and its thread notices by itself
    }
}

void DeviceRunner::start(UnitRun& run) noexcept {
    run.behind = nullptr;
    post([&](Inbox& inbox) {
        RunQueue& queue = inbox.starts;
        (queue.last ? queue.last->behind : queue.first) = &run;
        queue.last = &run;
    });
}

void DeviceRunner::note_cancel() noexcept {
    post([](Inbox& inbox) { inbox.has_cancels = true; });
}

void DeviceRunner::stop(std::uint32_t processor) noexcept {
    post([&](Inbox& inbox) { inbox.stops |= std::uint64_t{1} << processor; });
}

void DeviceRunner::begin_trial(std::uint32_t processor) noexcept {
    post([&](Inbox& inbox) { inbox.trials |= std::uint64_t{1} << processor; });
}

// Its own thread

void DeviceRunner::run() {
    bool is_stopping = false;
    while (!is_stopping) {
        wait();
        Inbox inbox;
        {
            const std::lock_guard lock(mutex_);
            inbox = std::exchange(inbox_, {});
            is_stopping = inbox.is_stopping;
        }
        handle(inbox);
    }
}

void DeviceRunner::step() {
    handle(std::exchange(inbox_, {}));
}

void DeviceRunner::handle(const Inbox& inbox) {
    gather(0);
    for (UnitRun* run = inbox.starts.first; run;) {
        UnitRun* const behind = run->behind;
        submit(*run);
        run = behind;
    }
    if (inbox.has_cancels)
        cancel_wanted();
    for (const auto& core : cores_) {
        const std::uint64_t bit = std::uint64_t{1} << core->core.processor;
        if (inbox.stops & bit)
            stop_core(*core);
        if (inbox.trials & bit)
            try_core(*core);
    }
}

/// Waits until there may be something to do.
void DeviceRunner::wait() {
    std::unique_lock lock(mutex_);
    const auto has_news = [&] { return !inbox_.is_empty() || inbox_.is_stopping; };
    if (has_news())
        return;
    if (is_lost_ || queue_.in_flight() == 0) {
        news_.wait(lock, has_news);
        return;
    }
    is_reaping_ = true;
    lock.unlock();
    gather(deadline_never);
    lock.lock();
    is_reaping_ = false;
}

void DeviceRunner::gather(std::int64_t deadline_ns) {
    if (is_lost_)
        return;
    try {
        const auto ended = [this](UnitJob& job, const Completion& completion) {
            job_ended(job, completion);
        };
        while (queue_.reap(deadline_ns, ended) != 0)
            deadline_ns = 0;
    } catch (const std::exception&) {
        lose_device();
    }
}

void DeviceRunner::submit(UnitRun& run) {
    CoreState& core = state_of(run.described->processor);
    run.behind = nullptr;
    run.before = nullptr;
    run.jobs_left = 0;
    if (core.is_failed || is_lost_ || run.is_cancelled.load(std::memory_order_acquire)) {
        run.outcome = core.is_failed || is_lost_ ? RunOutcome::failed : RunOutcome::cancelled;
        host_.run_ended(run);
        return;
    }
    run.before = core.runs.last;
    (core.runs.last ? core.runs.last->behind : core.runs.first) = &run;
    core.runs.last = &run;
    try {
        submit_jobs(run);
    } catch (const Error& refused) {
        run.status = -refused.code();
        if (!is_of_processor(run.status))
            run.task->set_error(refused.what());
        run.outcome = is_of_processor(run.status) ? RunOutcome::failed : RunOutcome::fault;
    } catch (const std::bad_alloc&) {
        run.status = -ENOMEM;
        run.outcome = RunOutcome::fault;
    }
    if (run.outcome == RunOutcome::done)
        return;
    if (run.status == -ENODEV) {
        lose_device();
        return;
    }
    cancel_jobs(run);
    if (run.jobs_left == 0)
        end(run);
}

void DeviceRunner::submit_jobs(UnitRun& run) {
    CoordinatedTask& task = *run.task;
    UnitInference& inference = *task.inference();
    const SegmentWork& work = inference.work(domain_);
    std::uint64_t tag = run.first_tag;
    for (std::uint64_t rest = run.described->units; rest != 0; rest &= rest - 1) {
        const auto unit = static_cast<std::size_t>(std::countr_zero(rest));
        UnitJob& job = task.unit_jobs_[unit];
        job.run = &run;
        job.tag = tag++;
        // The results of earlier units of the run are in the domain when the unit begins.
        inference.bring(unit, domain_, run.described->units);
        queue_.submit(job.entry, work, inference.model().work(unit, run.engine_class).segment,
                      plain_job(run, job.tag));
        job.is_in_flight = true;
        run.jobs_left++;
    }
}

Job DeviceRunner::plain_job(const UnitRun& run, std::uint64_t tag) {
    const engine::RunOptions& options = run.task->options();
    Job job;
    job.tag = tag;
    job.priority = options.priority;
    job.custom_id = options.custom_id;
    job.model = options.model;
    job.core = state_of(run.described->processor).core.number;
    job.deadline_ns = deadline_never;
    return job;
}

void DeviceRunner::cancel_jobs(UnitRun& run) noexcept {
    run.is_cancelled_there = true;
    for (std::uint64_t rest = run.described->units; rest != 0; rest &= rest - 1) {
        const UnitJob& job = run.task->unit_jobs_[static_cast<std::size_t>(std::countr_zero(rest))];
        if (job.run != &run || !job.is_in_flight)
            continue;
        try {
            queue_.cancel(job.tag);
        } catch (const std::exception&) { // the run ends without being cancelled
        }
    }
}

void DeviceRunner::cancel_wanted() noexcept {
    for (const auto& core : cores_)
        for (UnitRun* run = core->runs.first; run; run = run->behind)
            if (!run->is_cancelled_there && run->is_cancelled.load(std::memory_order_acquire))
                cancel_jobs(*run);
}

void DeviceRunner::job_ended(UnitJob& job, const Completion& completion) {
    job.is_in_flight = false;
    if (!job.run) { // the job of a trial
        const auto core =
            std::ranges::find_if(cores_, [&](const auto& state) { return &state->trial == &job; });
        (*core)->is_failed = completion.status != 0;
        host_.trial_ended((*core)->core.processor, completion.status == 0);
        return;
    }
    UnitRun& run = *job.run;
    run.jobs_left--;
    if (completion.start_ns != 0) {
        run.has_started = true;
        if (run.start_ns == 0)
            run.start_ns = completion.start_ns;
    }
    run.executed_ns += completion.executed_ns;
    run.end_ns = std::max<std::uint64_t>(run.end_ns, completion.end_ns);
    if (run.outcome == RunOutcome::done) {
        add_to(run.job, completion);
        run.status = completion.status;
        if (completion.status == -ECANCELED)
            run.outcome = RunOutcome::cancelled;
        else if (is_of_processor(completion.status))
            run.outcome = RunOutcome::failed;
        else if (completion.status != 0)
            run.outcome = RunOutcome::fault;
        if (run.outcome != RunOutcome::done && run.jobs_left != 0)
            cancel_jobs(run);
    }
    if (run.jobs_left == 0)
        end(run);
}

/// Ends a run on its core.
void DeviceRunner::end(UnitRun& run) noexcept {
    CoreState& core = state_of(run.described->processor);
    (run.before ? run.before->behind : core.runs.first) = run.behind;
    (run.behind ? run.behind->before : core.runs.last) = run.before;
    for (std::uint64_t rest = run.described->units; rest != 0; rest &= rest - 1) {
        const auto unit = static_cast<std::size_t>(std::countr_zero(rest));
        run.task->unit_jobs_[unit].run = nullptr;
        if (run.outcome == RunOutcome::done)
            run.task->inference()->note_written(unit, domain_);
    }
    if (run.outcome == RunOutcome::failed)
        fail(core);
    host_.run_ended(run);
}

/// Reports the failure before the end of the run, so that the host counts the run as failed, too.
void DeviceRunner::fail(CoreState& core) noexcept {
    if (std::exchange(core.is_failed, true))
        return;
    host_.processor_failed(core.core.processor);
}

void DeviceRunner::stop_core(CoreState& core) noexcept {
    core.is_failed = true;
    for (UnitRun* run = core.runs.first; run; run = run->behind)
        if (!run->is_cancelled_there) {
            run->outcome = RunOutcome::failed;
            cancel_jobs(*run);
        }
}

void DeviceRunner::try_core(CoreState& core) noexcept {
    if (is_lost_ || core.trial.is_in_flight) {
        host_.trial_ended(core.core.processor, false);
        return;
    }
    const overtake_fc nothing{0, 1};
    const overtake_binding program{trial_program_->address(), sizeof(overtake_insn),
                                   OVERTAKE_REGION_PROGRAM, OVERTAKE_MAP_READ};
    Job job;
    job.tag = next_job_tag();
    job.fcs = {&nothing, 1};
    job.bindings = {&program, 1};
    job.core = core.core.number;
    try {
        queue_.submit(core.trial.entry, job);
        core.trial.is_in_flight = true;
        return;
    } catch (const Error& refused) {
        if (refused.code() == ENODEV)
            lose_device();
    } catch (const std::bad_alloc&) {
    }
    host_.trial_ended(core.core.processor, false);
}

/// Cancels all jobs and waits for their ends: a device that still works writes into memory that
/// belongs to the callers again when their tasks end.
void DeviceRunner::lose_device() noexcept {
    try {
        queue_.cancel_all();
        while (queue_.in_flight() != 0)
            queue_.reap(deadline_never, [](const UnitJob&, const Completion&) {});
    } catch (const std::exception&) { // the device does not work
    }
    queue_.forget_all();
    is_lost_ = true;
    for (const auto& core : cores_) {
        fail(*core);
        host_.processor_gone(core->core.processor);
        if (std::exchange(core->trial.is_in_flight, false))
            host_.trial_ended(core->core.processor, false);
        while (UnitRun* const run = core->runs.first) {
            run->outcome = RunOutcome::failed;
            run->jobs_left = 0;
            end(*run);
        }
    }
}

} // namespace overtake::coordination
