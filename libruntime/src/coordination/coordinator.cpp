// SPDX-License-Identifier: MIT
#include "coordination/coordinator.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "job_tag.hpp"
#include "monotonic_clock.hpp"
#include "overtake/error.hpp"

namespace overtake::coordination {

namespace {

std::uint64_t bit(std::uint32_t number) {
    return std::uint64_t{1} << number;
}

} // namespace

Coordinator::Coordinator(CoordinatorSetup setup) : setup_(std::move(setup)) {
    counts_.resize(setup_.processors.size());
    ended_ns_.resize(setup_.processors.size());
    ovt_coord_init(&coord_, &setup_.settings, setup_.described.data(),
                   static_cast<u32>(setup_.described.size()), setup_.entries,
                   static_cast<u32>(setup_.classes.size()), setup_.rates.data());
    for (const CoordinatedProcessor& processor : setup_.processors)
        names_.push_back(probe::name_of(processor.name));
}

Coordinator::~Coordinator() {
    for (u32 q = 0; q < coord_.processor_count; q++)
        probe::processor(this, monotonic_ns(), q, names_[q], probe::State::gone,
                         coord_.processors[q], counts_[q]);
}

bool Coordinator::takes(std::uint32_t q, u32 unit, const UnitInference& inference) const {
    const ovt_coord_model& described = inference.model().described();
    return described.times[unit * coord_.class_count + coord_.processors[q].class_index] != 0 &&
           inference.domains() & bit(setup_.processors[q].domain);
}

/// Returns the processors that may run the unit, one bit each, out of all processors.
std::uint64_t Coordinator::able(u32 unit, const UnitInference& inference, std::uint64_t on,
                                std::uint32_t on_class) const {
    const ovt_coord_model& described = inference.model().described();
    std::uint64_t can = 0;
    for (u32 q = 0; q < coord_.processor_count; q++) {
        if (!takes(q, unit, inference))
            continue;
        const bool falls_back = coord_.processors[q].workers != 0 &&
                                described.times[unit * coord_.class_count + on_class] == 0;
        if (on == 0 || on & bit(q) || falls_back)
            can |= bit(q);
    }
    return can;
}

std::optional<std::size_t> Coordinator::unit_without_processor(const UnitInference& inference,
                                                               std::uint64_t on,
                                                               std::uint32_t on_class) const {
    for (u32 u = 0; u < inference.model().described().unit_count; u++)
        if (able(u, inference, on, on_class) == 0)
            return u;
    return std::nullopt;
}

std::optional<std::size_t> Coordinator::lost_unit(const CoordinatedTask& task) const {
    if (gone_ == 0)
        return std::nullopt;
    const UnitInference& inference = *task.inference();
    const std::uint64_t finished = task.is_in_coordinator_ ? task.coord_.finished : 0;
    const bool is_whole = setup_.settings.policy->whole && task.options_.priority != priority_high;
    std::uint64_t all_can = ~gone_;
    for (u32 u = 0; u < inference.model().described().unit_count; u++) {
        if ((finished >> u & 1) != 0)
            continue;
        const std::uint64_t can = able(u, inference, task.on_, task.on_class_) & ~gone_;
        all_can &= can;
        if (can == 0 || (is_whole && all_can == 0))
            return u;
    }
    return std::nullopt;
}

void Coordinator::check(const UnitInference& inference, const engine::RunOptions& options,
                        std::uint64_t on, std::uint32_t on_class) const {
    CoordinatedModel& model = inference.model();
    if (const auto unit = unit_without_processor(inference, on, on_class))
        throw Error(EINVAL,
                    fmt::format("{}: no processor of the engine can run its unit {}{}; name a "
                                "processor of class {}, which it was compiled for",
                                model.model().name(), *unit,
                                options.on.empty() ? "" : " on '" + options.on + "'",
                                model.classes_with(*unit)));
    std::uint64_t all_can = ~std::uint64_t{0};
    for (u32 u = 0; u < model.described().unit_count; u++)
        all_can &= able(u, inference, on, on_class);
    if (setup_.settings.policy->whole && all_can == 0 && options.priority != priority_high)
        throw Error(EINVAL, fmt::format("{}: under the policy {} one processor runs all of it, and "
                                        "none of the engine's can",
                                        model.model().name(), setup_.settings.policy->name));
}

std::vector<UnitRefusal> Coordinator::refusals(const UnitInference& inference) const {
    std::vector<UnitRefusal> refusals;
    const CoordinatedModel& model = inference.model();
    for (u32 u = 0; u < inference.model().described().unit_count; u++)
        for (u32 q = 0; q < coord_.processor_count; q++) {
            if (takes(q, u, inference))
                continue;
            const std::string& away = inference.away_refusal(setup_.processors[q].domain);
            refusals.push_back(
                {u, setup_.processors[q].name,
                 away.empty() ? model.refusal(u, coord_.processors[q].class_index) : away});
        }
    return refusals;
}

void Coordinator::run_ended(UnitRun& run, std::uint64_t now) {
    CoordinatedTask& task = *run.task;
    run.is_with_runner = false;
    ended_ns_[run.described->processor] = now;
    // A run that a processor with a timeout has done counts as failed if the processor has failed
    // meanwhile.
    if (run.outcome == RunOutcome::done && !coord_.processors[run.described->processor].in_use &&
        setup_.processors[run.described->processor].has_timeout)
        run.outcome = RunOutcome::failed;
    auto* described = const_cast<ovt_coord_run*>(run.described);
    const ovt_coord_end end = {
        .status = run.outcome == RunOutcome::done        ? OVT_COORD_DONE
                  : run.outcome == RunOutcome::cancelled ? OVT_COORD_CANCELLED
                                                         : OVT_COORD_FAILED,
        .fault = run.outcome == RunOutcome::fault,
        .started = run.has_started,
        .executed = run.has_started ? run.executed_ns + described->lead : 0,
    };
    if (run.outcome == RunOutcome::fault && task.failure_ == 0)
        task.failure_ = run.status;
    probe::Counts& counts = counts_[described->processor];
    counts.runs += run.outcome == RunOutcome::done;
    counts.busy_ns += run.executed_ns;
    counts.retries += run.outcome == RunOutcome::failed && run.has_started;
    if (run.job.core != 0)
        task.core_ = run.job.core;
    // A run of a task that is ending counts as cancelled, even if the run came to its own end.
    if (ovt_coord_run_ended(&coord_, described, &end, now) == OVT_COORD_CANCELLED)
        run.outcome = RunOutcome::cancelled;
    task.add_record(run);
    tell_end(run, now);
    leave_nothing_to_do(now);
}

void Coordinator::processor_failed(std::uint32_t processor, std::uint64_t now) {
    if (!ovt_coord_fail(&coord_, processor, now))
        return;
    counts_[processor].failures++;
    tell(processor, now);
    setup_.processors[processor].runner->stop(processor);
    while (UnitRun* const waiting = first_waiting(coord_.processors[processor]))
        end_unstarted(*waiting, RunOutcome::failed, now);
    leave_nothing_to_do(now);
}

/// Returns the first run that was dispatched to a pool and is not yet with a worker.
UnitRun* Coordinator::first_waiting(const ovt_coord_processor& pool) const {
    const ovt_coord_run* first = nullptr;
    if (!ovt_coord_is_pool(&pool))
        return nullptr;
    for (const ovt_list* queue : {&pool.queued_high, &pool.queued_below}) {
        if (queue->next == queue)
            continue;
        const auto* run = ovt_container_of(queue->next, const ovt_coord_run, of_processor);
        if (!first || run->dispatch_sequence < first->dispatch_sequence)
            first = run;
    }
    return first ? static_cast<UnitRun*>(first->host) : nullptr;
}

/// Ends a run that waited for a worker.
void Coordinator::end_unstarted(UnitRun& run, RunOutcome outcome, std::uint64_t now) {
    run.outcome = outcome;
    run.end_ns = now;
    run.task->add_record(run);
    const ovt_coord_end end = {.status = outcome == RunOutcome::failed ? OVT_COORD_FAILED
                                                                       : OVT_COORD_CANCELLED,
                               .fault = false,
                               .started = false,
                               .executed = 0};
    ovt_coord_run_ended(&coord_, const_cast<ovt_coord_run*>(run.described), &end, now);
    tell_end(run, now);
}

void Coordinator::trial_ended(std::uint32_t processor, bool works, std::uint64_t now) {
    on_trial_ &= ~bit(processor);
    if (!coord_.processors[processor].in_use)
        ovt_coord_trial_ended(&coord_, processor, works, now);
    tell(processor, now);
}

void Coordinator::arrive(CoordinatedTask& task, std::uint64_t now) {
    const UnitInference& inference = *task.inference();
    ovt_coord_task& coord = task.coord_;
    coord.model = &inference.model().described();
    coord.priority = task.options_.priority;
    coord.custom_id = task.options_.custom_id;
    coord.on = task.on_;
    coord.on_class = task.on_class_;
    coord.barred = 0; // processors in whose domain it has no memory
    for (u32 q = 0; q < coord_.processor_count; q++)
        if (!(inference.domains() & bit(setup_.processors[q].domain)))
            coord.barred |= bit(q);
    coord.deadline = deadline_of(task);
    coord.runs = task.runs_.data();
    coord.links = task.links_.empty() ? nullptr : task.links_.data();
    task.is_in_coordinator_ = true;
    ovt_coord_arrive(&coord_, &coord, now);
}

std::uint64_t Coordinator::deadline_of(const CoordinatedTask& task) const {
    const engine::RunOptions& options = task.options_;
    std::uint64_t slo = options.slo_ns;
    if (slo == 0 && options.slo_scale > 0)
        slo = static_cast<std::uint64_t>(
            std::min(options.slo_scale * static_cast<double>(ovt_coord_worst_expected(
                                             &coord_, &task.inference()->model().described())),
                     0x1p62));
    if (slo == 0)
        return options.deadline_ns;
    return std::min(options.deadline_ns, task.arrival_ns_ + std::min(slo, UINT64_MAX / 2));
}

void Coordinator::cancel(CoordinatedTask& task) {
    if (task.is_in_coordinator_)
        ovt_coord_cancel(&coord_, &task.coord_);
}

void Coordinator::cancel_now(CoordinatedTask& task, std::uint64_t now) {
    cancel(task);
    leave_nothing_to_do(now);
}

void Coordinator::begin_trials(std::uint64_t now) {
    for (u32 q = 0; q < coord_.processor_count; q++) {
        const ovt_coord_processor& processor = coord_.processors[q];
        // A trial begins once all runs of the processor have come back.
        if (processor.in_use || processor.trial_time > now || processor.unfinished != 0 ||
            on_trial_ & bit(q))
            continue;
        on_trial_ |= bit(q);
        tell(q, now);
        setup_.processors[q].runner->begin_trial(q);
    }
}

/// Returns the time at which a processor counts as failed unless it ends a run before;
/// OVT_COORD_NEVER: never.
std::uint64_t Coordinator::overdue_time(std::uint32_t processor) const {
    const ovt_coord_processor& of = coord_.processors[processor];
    if (setup_.run_timeout_ns == 0 || !setup_.processors[processor].has_timeout || !of.in_use ||
        of.unfinished == 0)
        return OVT_COORD_NEVER;
    return ended_ns_[processor] + setup_.run_timeout_ns;
}

void Coordinator::fail_overdue(std::uint64_t now) {
    for (u32 q = 0; q < coord_.processor_count; q++)
        if (overdue_time(q) <= now)
            processor_failed(q, now);
}

void Coordinator::act(std::uint64_t now) {
    ovt_coord_action action;
    while (ovt_coord_next(&coord_, now, &action))
        carry_out(action, now);
}

std::uint64_t Coordinator::next_time() const {
    std::uint64_t next = ovt_coord_next_deadline(&coord_);
    for (u32 q = 0; q < coord_.processor_count; q++) {
        const ovt_coord_processor& processor = coord_.processors[q];
        next = std::min(next, overdue_time(q));
        if (!processor.in_use && processor.unfinished == 0 && !(on_trial_ & bit(q)))
            next = std::min<std::uint64_t>(next, processor.trial_time);
    }
    return next;
}

std::vector<ProcessorState> Coordinator::states(std::uint64_t now) const {
    std::vector<ProcessorState> states;
    for (std::size_t q = 0; q < setup_.processors.size(); q++) {
        const ovt_coord_processor& processor = setup_.described[q];
        states.push_back(
            {setup_.processors[q].name, setup_.classes[processor.class_index].name,
             processor.in_use, static_cast<double>(processor.ratio) / 1000, processor.unfinished,
             counts_[q].runs, counts_[q].busy_ns, counts_[q].failures, counts_[q].retries,
             processor.in_use || processor.trial_time <= now ? 0 : processor.trial_time - now});
    }
    return states;
}

engine::OwningList<CoordinatedTask, &CoordinatedTask::stage_link_> Coordinator::take_ended() {
    return std::exchange(ended_, {});
}

// The scheduler's actions

void Coordinator::leave_nothing_to_do(std::uint64_t now) {
    ovt_coord_action action;
    while (ovt_coord_left_to_do(&coord_, &action))
        carry_out(action, now);
}

void Coordinator::carry_out(const ovt_coord_action& action, std::uint64_t now) {
    switch (action.type) {
    case OVT_COORD_DISPATCH:
        dispatch(action, now);
        break;
    case OVT_COORD_START:
        start(*static_cast<UnitRun*>(action.run->host));
        break;
    case OVT_COORD_CANCEL:
        cancel_run(*static_cast<UnitRun*>(action.run->host), now);
        break;
    case OVT_COORD_END:
        end(CoordinatedTask::of(action.task));
        break;
    }
}

// Reports to tracers

/// Returns the processors that could run the run's first unit for this task, working or not.
std::uint64_t Coordinator::able(const CoordinatedTask& task, const ovt_coord_run& run) const {
    const ovt_coord_task& coord = task.coord_;
    const auto first = static_cast<u32>(std::countr_zero(run.units));
    const std::uint64_t can = coord.model->processors[first] & ~coord.barred;
    if (coord.on == 0)
        return can;
    const bool falls_back = coord.model->times[first * coord_.class_count + coord.on_class] == 0;
    return can & (coord.on | (falls_back ? coord_.pools : 0));
}

probe::State Coordinator::state_of(std::uint32_t processor) const {
    constexpr std::uint64_t throttled_above = 1250; // thousandths
    if (on_trial_ & bit(processor))
        return probe::State::trial;
    if (!coord_.processors[processor].in_use)
        return probe::State::failed;
    return coord_.processors[processor].ratio > throttled_above ? probe::State::throttled
                                                                : probe::State::works;
}

void Coordinator::tell(std::uint32_t processor, std::uint64_t now) const {
    probe::processor(this, now, processor, names_[processor], state_of(processor),
                     coord_.processors[processor], counts_[processor]);
}

void Coordinator::tell_all(std::uint64_t now) {
    constexpr std::uint64_t tell_every_ns = 200'000'000;
    if (now < next_tell_ns_)
        return;
    next_tell_ns_ = now + tell_every_ns;
    for (u32 q = 0; q < coord_.processor_count; q++)
        tell(q, now);
}

/// Reports the end of a run, and the state of its processor after that.
void Coordinator::tell_end(const UnitRun& run, std::uint64_t now) const {
    std::int32_t status = run.status;
    if (run.outcome != RunOutcome::fault)
        status = run.outcome == RunOutcome::failed      ? -EIO
                 : run.outcome == RunOutcome::cancelled ? -ECANCELED
                                                        : 0;
    probe::run_end(*run.task, now, this, *run.described, run.has_started ? run.start_ns : 0,
                   run.end_ns, run.executed_ns, status);
    tell(run.described->processor, now);
}

Runner& Coordinator::runner_of(const UnitRun& run) const {
    return *setup_.processors[run.described->processor].runner;
}

/// Hands the run to a core; a run of a pool waits for its start.
void Coordinator::dispatch(const ovt_coord_action& action, std::uint64_t now) {
    CoordinatedTask& task = CoordinatedTask::of(action.task);
    if (task.dispatched_ns_ == 0)
        task.dispatched_ns_ = action.run->dispatch_time;
    UnitRun& run = *static_cast<UnitRun*>(action.run->host);
    run.is_cancelled.store(false, std::memory_order_relaxed);
    run.is_cancelled_there = false;
    run.first_tag =
        setup_.processors[action.run->processor].core == 0
            ? 0
            : next_job_tag(static_cast<std::uint64_t>(std::popcount(action.run->units)));
    run.engine_class = coord_.processors[action.run->processor].class_index;
    run.outcome = RunOutcome::done;
    run.status = 0;
    run.has_started = false;
    run.executed_ns = 0;
    run.start_ns = 0;
    run.end_ns = 0;
    run.job = {};
    if (coord_.processors[action.run->processor].unfinished == 1)
        ended_ns_[action.run->processor] = now;
    tell(action.run->processor, now);
    probe::run_dispatch(task, now, this, *action.run, able(task, *action.run), run.first_tag);
    if (!ovt_coord_is_pool(&coord_.processors[action.run->processor]))
        start(run);
}

void Coordinator::start(UnitRun& run) {
    run.is_with_runner = true;
    runner_of(run).start(run);
}

void Coordinator::cancel_run(UnitRun& run, std::uint64_t now) {
    if (run.is_with_runner) {
        run.is_cancelled.store(true, std::memory_order_release);
        runner_of(run).note_cancel();
        return;
    }
    end_unstarted(run, RunOutcome::cancelled, now);
}

void Coordinator::end(CoordinatedTask& task) {
    task.is_in_coordinator_ = false;
    task.retries_ += task.coord_.retries;
    if (task.failure_ == 0)
        switch (task.coord_.status) {
        case OVT_COORD_FAILED:
            task.failure_ = -EIO;
            break;
        case OVT_COORD_CANCELLED:
            task.failure_ = -ECANCELED;
            break;
        case OVT_COORD_DROPPED:
            task.failure_ = -ETIME;
            break;
        default:
            break;
        }
    ended_.push(task.shared());
}

} // namespace overtake::coordination
