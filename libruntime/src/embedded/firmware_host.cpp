// SPDX-License-Identifier: MIT
#include "embedded/firmware_host.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>

#include "embedded/disposal.hpp"
#include "embedded/step_clock.hpp"
#include "monotonic_clock.hpp"
#include "simd_choice.hpp"
#include <fmt/format.h>

namespace overtake {

namespace {

/// Longer than a driver's limit, since here an FC delays only its own process.
constexpr std::uint64_t default_fc_clock_ns = step_clock_ns;
/// Not 0: a time of 0 in a result record means that the event never happened.
constexpr std::uint64_t manual_clock_origin_ns = 1'000'000'000;
/// The commands of a client: two for each job, and for each queue a KILL_CONTEXT and two LIMITs a
/// core.
constexpr std::size_t client_commands =
    2 * OVERTAKE_MAX_CLIENT_JOBS + OVERTAKE_MAX_CONTEXTS * (1 + 2 * OVERTAKE_MAX_CORES);
/// command_count() and event_count bound the work that has not reached the firmware or its client.
std::uint32_t command_count(unsigned clients) {
    return std::bit_ceil(
        static_cast<std::uint32_t>(clients * client_commands + 2 * OVERTAKE_MAX_CORES));
}
/// As many events as are delivered before others may have the lock.
constexpr std::size_t event_count = steps_per_hold;

EmbeddedOptions checked(EmbeddedOptions options) {
    const auto refuse = [](const std::string& what) {
        throw Error(EINVAL, "embedded device: " + what);
    };
    if (options.cores < 1 || options.cores > OVERTAKE_MAX_CORES)
        refuse(fmt::format("{} cores, but 1..{} are possible", options.cores, OVERTAKE_MAX_CORES));
    if (options.mode > OVERTAKE_MODE_BOTH)
        refuse(fmt::format("mode {}, but 0..2 are defined", options.mode));
    if (options.core_limits.empty())
        options.core_limits.assign(options.cores, options.core_limit);
    if (options.core_limits.size() != options.cores)
        refuse(
            fmt::format("{} core limits for {} cores", options.core_limits.size(), options.cores));
    if (options.fc_clock_ns == 0)
        options.fc_clock_ns = default_fc_clock_ns;
    if (options.queue_timeout_ns == 0)
        options.queue_timeout_ns = OVT_QUEUE_TIMEOUT_MS * 1'000'000ull;
    return options;
}

ovt_mode firmware_mode(unsigned mode) {
    switch (mode) {
    case OVERTAKE_MODE_TIMED:
        return OVT_MODE_TIMED;
    case OVERTAKE_MODE_BOTH:
        return OVT_MODE_BOTH;
    default:
        return OVT_MODE_FUNCTIONAL;
    }
}

std::uint64_t watchdog_cycles(const EmbeddedOptions& options, const ovt_profile& profile) {
    return options.watchdog_cycles != 0 ? options.watchdog_cycles
                                        : ovt_watchdog_cycles(&profile, OVT_WATCHDOG_MS);
}

} // namespace

FirmwareHost::FirmwareHost(const EmbeddedOptions& options, const SharedOptions& shared,
                           std::vector<ovt_profile> profiles)
    : options_(checked(options)),
      profiles_(profiles.empty() ? core_profiles_of(options_) : std::move(profiles)),
      like_cores_(ovt_profiles_alike(profiles_.data(), options_.cores)), silicon_(options_.cores),
      failed_(options_.cores), core_states_(options_.cores),
      commands_(std::make_unique_for_overwrite<ovt_command[]>(command_count(shared.clients))),
      events_(event_count), mutex_(shared.measure_lock), manual_now_(manual_clock_origin_ns),
      limits_(options_.cores, 0), job_max_ns_(shared.job_max_ns), coarse_(options_.cores),
      core_wake_(options_.cores) {
    config_.profile = &profiles_.front();
    config_.mode = firmware_mode(options_.mode);
    config_.core_count = options_.cores;
    config_.fair = options_.fair;
    config_.watchdog_cycles = watchdog_cycles(options_, profiles_.front());
    config_.clock = ovt_fc_clock(options_.fc_clock_ns);
    config_.lag_max_ns = options_.manual_clock ? 0 : OVT_LAG_MAX_NS; // a manual clock waits
    config_.stretch_max_ns = options_.manual_clock ? 0 : OVT_STRETCH_MAX_NS;
    config_.cores = silicon_.data();
    config_.core_states = core_states_.data();
    config_.commands = commands_.get();
    config_.command_count = command_count(shared.clients);
    config_.events = events_.data();
    config_.event_count = event_count;
    ovt_fw_init(&firmware_, &config_);
    for (unsigned i = 0; i < options_.cores; i++)
        ovt_core_set_profile(&silicon_[i], &profiles_[i], watchdog_cycles(options_, profiles_[i]));
    if (shared.service) {
        service_ = std::make_unique<TaskService>(*this, *shared.service, options_.cores);
        init_context(service_->context());
    }
    if (const auto level = options_.simd ? chosen_simd() : std::nullopt) {
        simd_.resize(options_.cores);
        for (unsigned core = 0; core < options_.cores; core++)
            ovt_core_use_simd(&silicon_[core], &simd_[core], *level);
    }
    {
        Lock lock(mutex_);
        ovt_fw_reserve(&firmware_, 2 * options_.cores);
        apply_limits(nullptr);
        for (unsigned core = 1; core <= options_.cores; core++)
            ovt_fw_normal_floor(&firmware_, core, options_.normal_floor, now());
        pump(lock);
    }
    try {
        for (unsigned core = 1; core <= options_.cores; core++)
            threads_.emplace_back([this, core] { run_core(core); });
        if (!options_.manual_clock)
            threads_.emplace_back([this] { run_timer(); });
    } catch (const std::exception& error) {
        stop_threads();
        throw Error(EAGAIN, fmt::format("device: no thread can be had: {}", error.what()));
    }
}

void FirmwareHost::stop_threads() {
    {
        const Lock lock(mutex_);
        stopping_ = true;
    }
    for (std::condition_variable& wake : core_wake_)
        wake.notify_all();
    timer_wake_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

// Threads

void FirmwareHost::run_core(unsigned core) {
    Lock lock(mutex_);
    const auto runnable = [&] { return ovt_fw_runnable(&firmware_, core); };
    for (;;) {
        lock.wait(core_wake_[core - 1], [&] { return stopping_ || runnable(); });
        if (!runnable())
            return;
        execute(lock, core);
    }
}

/// Executes the core's FC until nothing of it is left to execute.
void FirmwareHost::execute(Lock& lock, unsigned core) {
    StepClock clock;
    ovt_step step;
    do {
        lock.unlock();
        step = clock.step(silicon_[core - 1]);
        while (step == OVT_STEP_MORE)
            step = clock.step(silicon_[core - 1]);
        lock.lock();
        if (step == OVT_STEP_PRICED)
            ovt_fw_priced(&firmware_, core);
        else
            ovt_fw_executed(&firmware_, core, now());
        pump(lock);
    } while (step != OVT_STEP_FINISHED);
    settled_.notify_all();
}

void FirmwareHost::run_timer() {
    Lock lock(mutex_);
    while (!stopping_) {
        timer_waits_for_ = std::min(next_instant(), next_deadline());
        if (timer_waits_for_ > now()) {
            lock.wait_until(timer_wake_, timer_waits_for_);
            continue;
        }
        pause(lock);
        expire_deadlines();
        pump(lock);
    }
}

// Time

std::uint64_t FirmwareHost::now() const {
    return options_.manual_clock ? manual_now_ : monotonic_ns();
}

std::uint64_t FirmwareHost::manual_now() {
    const Lock lock(mutex_);
    return manual_now_;
}

void FirmwareHost::advance_to(std::uint64_t now_ns) {
    const std::lock_guard one_at_a_time(clock_mutex_);
    Lock lock(mutex_);
    if (now_ns >= std::uint64_t{deadline_never})
        throw Error(EINVAL, fmt::format("manual clock: {} ns is beyond every deadline", now_ns));
    if (now_ns < manual_now_)
        throw Error(EINVAL, fmt::format("manual clock: {} ns is in the past, it is {} ns", now_ns,
                                        manual_now_));
    if (service_ && service_->has_tasks())
        step_service(lock, now_ns);
    // A deadline acts as a cancel that arrives at its instant.
    while (next_deadline() < now_ns) {
        step_manual_clock(lock, std::max(next_deadline(), manual_now_));
        expire_deadlines();
    }
    step_manual_clock(lock, now_ns);
    expire_deadlines();
}

void FirmwareHost::step_manual_clock(Lock& lock, std::uint64_t now_ns) {
    manual_now_ = now_ns;
    pump(lock);
    lock.wait(settled_, [&] { return ovt_fw_prepared(&firmware_, now_ns); });
}

/// Advances the firmware to the present.  Everything that arrives at one instant of a manual clock
/// is seen together, so choices wait until the clock moves on.
ovt_advance FirmwareHost::advance() {
    return options_.manual_clock ? ovt_fw_prepare(&firmware_, manual_now_)
                                 : ovt_fw_advance(&firmware_, now());
}

/// Lets the firmware do all that it can, and reports the results.
void FirmwareHost::pump(Lock& lock) {
    do {
        roll_coarse_counters();
        while (advance() == OVT_ADVANCE_EVENTS) {
            deliver_events();
            pause(lock);
            roll_coarse_counters();
        }
        deliver_events();
        pause(lock);
        // Under a manual clock, more tasks may arrive at this instant.
    } while (service_ && !options_.manual_clock && service_->settle(now()));
    if (next_instant() < timer_waits_for_)
        timer_wake_.notify_one();
}

/// Pauses after enough steps.  An instant of a manual clock is one step, whatever happens in it.
void FirmwareHost::pause(Lock& lock) {
    if (!options_.manual_clock && mutex_.is_time_to_pause())
        lock.pause();
}

// Events

void FirmwareHost::deliver_events() {
    ovt_event event;
    while (ovt_fw_pop_event(&firmware_, &event)) {
        mutex_.count_steps(1);
        deliver(event);
    }
}

void FirmwareHost::deliver(const ovt_event& event) {
    switch (event.type) {
    case OVT_EVENT_ARRIVED:
        tell_arrival(static_cast<const EmbeddedJob&>(*event.job), event.time_ns);
        return;
    case OVT_EVENT_PREEMPTED:
        overtaking_ = event; // STARTED of the overtaking FC is next
        return;
    case OVT_EVENT_STARTED:
        tell_start(event);
        if (failed_[event.core - 1])
            stop_by_register(event.core);
        mutex_.notify_when_free(core_wake_[event.core - 1]);
        return;
    case OVT_EVENT_DONE:
    case OVT_EVENT_FAULT:
    case OVT_EVENT_HUNG:
        count_fc(*static_cast<const EmbeddedJob&>(*event.job).owner->client, event);
        report_fc(event);
        tell_fc_end(event);
        return;
    case OVT_EVENT_ENDED:
        tell_job_end(event);
        end_job(static_cast<EmbeddedJob&>(*event.job));
        return;
    case OVT_EVENT_CANCELLED:
        let_go(std::move(static_cast<EmbeddedJob&>(*event.job).held_until_cancelled));
        return;
    case OVT_EVENT_KILLED:
        auto& context = static_cast<EmbeddedContext&>(*event.context);
        context.gone = true;
        context.changed.notify_all();
        return;
    }
}

namespace {

/// Removes the job from the table of tags.  This may drop the host's last reference to it.
void take_from_table(EmbeddedContext& context, EmbeddedJob& job) {
    auto node = context.jobs.extract(job.tag);
    const std::shared_ptr<EmbeddedJob> reference = std::move(node.mapped());
    job.tag_node = std::move(node);
}

} // namespace

void FirmwareHost::end_job(EmbeddedJob& job) {
    std::shared_ptr<EmbeddedJob> reference = std::move(job.held_until_ended);
    EmbeddedContext& context = *job.owner;
    if (!job.cancel_requested && !job.task)
        ovt_fw_unreserve(&firmware_, 1);
    if (const auto deadline = deadlines_.find({job.deadline_ns, &job});
        deadline != deadlines_.end())
        job.deadline_node = deadlines_.extract(deadline);
    if (!context.sink)
        write_group_record(job);
    if (!context.client->disposal)
        job.memory.clear();
    job.ended = true;
    context.in_flight--;
    if (job.task) {
        service_->job_ended(job, completion_of(job));
        context.changed.notify_all(); // the thread that closes the job's queue handles the end
        let_go(std::move(reference));
        return;
    }
    if (context.sink) {
        context.sink->completed(completion_of(job), reference);
        context.client->jobs--;
        take_from_table(context, job);
        let_go(std::move(reference));
        return;
    }
    if (context.first_completed) {
        context.last_completed->completed_behind = &job;
    } else {
        context.first_completed = &job;
        context.changed.notify_all(); // a thread waits only while no job has completed
    }
    context.last_completed = &job;
}

/// Called when the firmware has released the job, or its CANCEL.  Hands the last reference to the
/// client's disposal, if there is one: freeing the memory of a job takes long.
void FirmwareHost::let_go(std::shared_ptr<EmbeddedJob> job) {
    Disposal* disposal = job->owner->client->disposal;
    if (disposal && job->ended && !job->held_until_cancelled)
        disposal->push(std::move(job));
}

// Contexts and core limits

void FirmwareHost::init_context(EmbeddedContext& context) {
    ovt_fw_context_init(&context);
    if (!config_.fair)
        return;
    context.turns_on_cores.resize(config_.core_count);
    ovt_fw_context_take_turns(&context, context.turns_on_cores.data(), config_.core_count);
}

std::unique_ptr<EmbeddedContext> FirmwareHost::open_context(const QueueOptions& options,
                                                            EmbeddedClient& client,
                                                            CompletionSink* sink) {
    if (const auto refusal = queue_refusal(options))
        throw *refusal;
    auto context = std::make_unique<EmbeddedContext>();
    context->options = options;
    context->client = &client;
    context->sink = sink;
    init_context(*context);
    context->jobs.reserve(OVERTAKE_MAX_JOBS); // so that it never grows under the lock

    Lock lock(mutex_);
    // KILL_CONTEXT, and two LIMITs for each core: one now and one when the context goes.
    const u32 slots = 1 + (options.core_limit != 0 ? 2 * config_.core_count : 0);
    auto requested = requested_limits_.end();
    if (options.core_limit != 0) // first, as this may find no memory
        requested = requested_limits_.insert(options.core_limit);
    if (client.contexts == OVERTAKE_MAX_CONTEXTS || !ovt_fw_reserve(&firmware_, slots)) {
        if (requested != requested_limits_.end())
            requested_limits_.erase(requested);
        throw Error(ENOSPC, "create queue: " + limit_text(OVERTAKE_LIMIT_CONTEXTS,
                                                          OVERTAKE_MAX_CONTEXTS, client.contexts));
    }
    client.contexts++;
    context->id = client.next_context++;
    tell_context(EventType::ctx_create, *context);
    if (options.core_limit != 0) {
        apply_limits(&client);
        pump(lock);
    }
    return context;
}

void FirmwareHost::close_context(EmbeddedContext& context) {
    Lock lock(mutex_);
    start_closing(context);
    pump(lock);
    wait_for_context(lock, context);
}

void FirmwareHost::start_closing(EmbeddedContext& context) {
    context.closing = true;
    ovt_fw_kill_context(&firmware_, &context, now());
    if (context.options.core_limit != 0) {
        requested_limits_.erase(requested_limits_.find(context.options.core_limit));
        apply_limits(context.client);
    }
}

void FirmwareHost::wait_for_context(Lock& lock, EmbeddedContext& context) {
    lock.wait(context.changed, [&] { return context.gone; });
    tell_context(EventType::ctx_destroy, context);
    context.client->contexts--;
    context.client->jobs -= static_cast<unsigned>(context.jobs.size());
}

/// Uses up one reserved command slot for every core.
void FirmwareHost::apply_limits(const EmbeddedClient* by) {
    for (unsigned i = 0; i < config_.core_count; i++) {
        const unsigned limit = wanted_limit(i);
        if (limit == limits_[i]) {
            ovt_fw_unreserve(&firmware_, 1);
            continue;
        }
        tell_limit(i + 1, limits_[i], limit, by);
        limits_[i] = limit;
        ovt_fw_limit(&firmware_, i + 1, limit, now());
    }
}

/// Returns the tightest of the core's own limit and the limits of live contexts; 0: no limit.
unsigned FirmwareHost::wanted_limit(unsigned core_index) const {
    const unsigned requested = requested_limits_.empty() ? 0 : *requested_limits_.begin();
    return ovt_tightest_limit(options_.core_limits[core_index], requested);
}

// Jobs

void FirmwareHost::submit(EmbeddedContext& context,
                          std::span<const std::shared_ptr<EmbeddedJob>> jobs,
                          std::size_t* admitted) {
    Lock lock(mutex_);
    struct PumpAtEnd {
        FirmwareHost& host;
        Lock& lock;
        ~PumpAtEnd() { host.pump(lock); }
    } pump_at_end{*this, lock};
    for (const std::shared_ptr<EmbeddedJob>& job : jobs) {
        admit(context, job);
        if (admitted)
            ++*admitted;
        mutex_.count_steps(1);
        pause(lock);
    }
}

void FirmwareHost::admit(EmbeddedContext& context, const std::shared_ptr<EmbeddedJob>& job) {
    const auto queue_jobs = static_cast<u32>(context.jobs.size());
    const auto refuse = [&](const ovt_verdict& verdict) {
        throw Error(refusal_code(verdict), admission_text(verdict, job->tag,
                                                          verdict.reason == OVT_REFUSED_QUEUE_FULL
                                                              ? queue_jobs
                                                              : context.client->jobs));
    };
    ovt_verdict verdict =
        ovt_check_room(context.jobs.contains(job->tag), queue_jobs, context.client->jobs);
    if (verdict.reason != OVT_ACCEPTED)
        refuse(verdict);
    const std::uint64_t arrival_ns = now();
    job->deadline_ns =
        ovt_job_deadline(job->deadline_ns, arrival_ns, options_.queue_timeout_ns, job_max_ns_);
    if (!ovt_fw_reserve(&firmware_, 2)) { // SUBMIT, CANCEL
        verdict.reason = OVT_REFUSED_DEVICE_FULL;
        refuse(verdict);
    }
    // Nothing from here on fails, since there is room in the tables.
    job->tag_node.mapped() = job;
    context.jobs.insert(std::move(job->tag_node));
    job->deadline_node.value() = {job->deadline_ns, job.get()};
    deadlines_.insert(std::move(job->deadline_node));
    job->owner = &context;
    job->context = &context;
    job->held_until_ended = job;
    context.in_flight++;
    context.client->jobs++;
    if (job->deadline_ns < timer_waits_for_)
        timer_wake_.notify_one();
    if (job->open_cores != 0) {
        job->core = ovt_fw_place(&firmware_, &context, job->open_cores);
        if (job->chosen_core)
            *job->chosen_core = job->core;
    }
    ovt_fw_submit(&firmware_, job.get(), arrival_ns);
}

bool FirmwareHost::cancel(EmbeddedContext& context, std::uint64_t tag) {
    Lock lock(mutex_);
    const auto found = context.jobs.find(tag);
    if (found == context.jobs.end() || found->second->ended)
        return false;
    request_cancel(*found->second, -ECANCELED);
    pump(lock);
    return true;
}

void FirmwareHost::request_cancel(EmbeddedJob& job, s32 error) {
    if (job.cancel_requested)
        return;
    job.cancel_requested = true;
    job.cancel_error = error;
    job.held_until_cancelled = job.held_until_ended;
    ovt_fw_cancel(&firmware_, &job, now());
    // A running FC of the job may end by itself, but only within stop_grace_ns.
    ovt_fw_stop(&firmware_, &job, monotonic_ns() + options_.stop_grace_ns);
}

std::uint64_t FirmwareHost::next_deadline() const {
    return deadlines_.empty() ? OVT_TIME_NEVER : deadlines_.begin()->first;
}

/// Expires due deadlines until the lock's steps are used up; the timer's thread expires the rest at
/// once.  Under a manual clock, expires all.
void FirmwareHost::expire_deadlines() {
    while (next_deadline() <= now() && (options_.manual_clock || !mutex_.is_time_to_pause())) {
        EmbeddedJob& job = *deadlines_.begin()->second;
        job.deadline_node = deadlines_.extract(deadlines_.begin());
        // A CANCEL behind the KILL would be answered only when the context is gone.
        if (job.task || !job.owner->closing)
            request_cancel(job, -ETIME);
        mutex_.count_steps(1);
    }
}

std::size_t FirmwareHost::reap(EmbeddedContext& context, std::span<Completion> out,
                               std::int64_t deadline_ns) {
    Lock lock(mutex_);
    const auto worth_waiting = [&] {
        return !context.first_completed && context.in_flight != 0 && !context.interrupted;
    };
    while (worth_waiting() && !out.empty() &&
           monotonic_ns() < static_cast<std::uint64_t>(deadline_ns))
        lock.wait_until(context.changed, static_cast<std::uint64_t>(deadline_ns));
    context.interrupted = false;
    std::size_t count = 0;
    for (; count < out.size() && context.first_completed; count++) {
        EmbeddedJob& job = *context.first_completed;
        out[count] = completion_of(job);
        context.first_completed = job.completed_behind;
        take_from_table(context, job);
        context.client->jobs--;
    }
    return count;
}

std::size_t FirmwareHost::in_flight(const EmbeddedContext& context) {
    const Lock lock(mutex_);
    return context.jobs.size();
}

unsigned FirmwareHost::jobs_of(const EmbeddedClient& client) {
    const Lock lock(mutex_);
    return client.jobs;
}

void FirmwareHost::interrupt(EmbeddedContext& context) {
    const Lock lock(mutex_);
    context.interrupted = true;
    context.changed.notify_all();
}

} // namespace overtake
