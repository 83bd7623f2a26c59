// SPDX-License-Identifier: MIT
//
// The checker orders events exactly. Commands have stamps of the host's clock, which is never
// behind the time up to which the firmware has decided, so each takes effect at its stamp. SUBMIT
// and CANCEL have events of their own. KILL, RESET, LIMIT, NORMAL_FLOOR, HOLD and RELEASE have
// none, or a late one: they are pending here until an event shows that they were consumed. Such an
// event is one of a later command; a choice at or after the stamp, since commands precede the
// choices of an instant; or the end of an FC after the stamp, since the ends of an instant precede
// its commands.
#include "scheduler/fc_checker.hpp"

#include <algorithm>

#include "scheduler/violation.hpp"

namespace overtake::fuzz {
namespace {

std::string name(const Job& job) {
    if (job.task == Job::no_task)
        return fmt::format("job {}", job.number);
    return fmt::format("job {} of task {}", job.number, job.task);
}

/// Returns whether the FC was stopped. After DONE, the job goes on, and may be stopped later.
bool was_stopped(const ovt_event& event) {
    return event.type == OVT_EVENT_FAULT &&
           (event.job->fault == OVERTAKE_FAULT_RESET || event.job->fault == OVERTAKE_FAULT_KILLED);
}

} // namespace

FcChecker::FcChecker(const Case& of)
    : case_(of), functional_(of.mode == OVT_MODE_FUNCTIONAL), cores_(of.cores()) {}

// Commands

void FcChecker::queued_submit(const Job& job, std::uint64_t now) {
    if (job.number != views_.size())
        violate("the fuzzer's jobs are out of order");
    View& view = views_.emplace_back();
    view.job = &job;
    view.high = job.device.priority == OVT_PRIORITY_HIGH;
    view.submit_order = next_order_++;
    view.submit_stamp = now;
}

void FcChecker::queued_cancel(const Job& job, std::uint64_t now) {
    views_[job.number].cancel_order = next_order_++;
    views_[job.number].cancel_stamp = now;
}

void FcChecker::queued_kill(const ovt_fw_context* context, std::uint64_t now) {
    pending_.push_back({OVT_COMMAND_KILL_CONTEXT, next_order_++, now, 0, 0, context});
    kills_.push_back({context, false});
}

void FcChecker::queued_reset(std::uint32_t core, std::uint64_t now) {
    pending_.push_back({OVT_COMMAND_RESET, next_order_++, now, core, 0, nullptr});
}

void FcChecker::queued_limit(std::uint32_t core, std::uint32_t limit, std::uint64_t now) {
    pending_.push_back({OVT_COMMAND_LIMIT, next_order_++, now, core, limit, nullptr});
}

void FcChecker::queued_floor(std::uint32_t core, std::uint32_t floor, std::uint64_t now) {
    pending_.push_back({OVT_COMMAND_NORMAL_FLOOR, next_order_++, now, core, floor, nullptr});
}

void FcChecker::queued_hold(std::uint64_t now) {
    pending_.push_back({OVT_COMMAND_HOLD, next_order_++, now, 0, 0, nullptr});
}

void FcChecker::queued_release(std::uint64_t now) {
    pending_.push_back({OVT_COMMAND_RELEASE, next_order_++, now, 0, 0, nullptr});
}

/// Applies the commands that were queued before the command `order`.
void FcChecker::take_pending(std::uint64_t order) {
    while (!pending_.empty() && pending_.front().order < order) {
        const Pending first = pending_.front();
        pending_.pop_front();
        apply(first);
    }
}

void FcChecker::take_pending_until(std::uint64_t time) {
    while (!pending_.empty() && pending_.front().stamp <= time) {
        const Pending first = pending_.front();
        pending_.pop_front();
        apply(first);
    }
}

/// Applies commands up to the one that stops `core`: later commands may not be consumed yet.
void FcChecker::take_pending_until_abort(const Core& core, std::uint64_t time) {
    while (core.abort == 0 && !pending_.empty() && pending_.front().stamp <= time) {
        const Pending first = pending_.front();
        pending_.pop_front();
        apply(first);
    }
}

void FcChecker::apply(const Pending& pending) {
    last_order_ = std::max(last_order_, pending.order);
    const auto abort = [&](Core& core, std::uint32_t fault) {
        if (core.running == nullptr || core.abort != 0)
            return;
        core.abort = fault;
        core.abort_time = pending.stamp;
    };
    switch (pending.type) {
    case OVT_COMMAND_LIMIT:
        cores_[pending.core - 1].limit = pending.limit;
        break;
    case OVT_COMMAND_NORMAL_FLOOR:
        cores_[pending.core - 1].floor = pending.limit;
        break;
    case OVT_COMMAND_HOLD:
        held_ = true;
        break;
    case OVT_COMMAND_RELEASE:
        if (held_)
            released_at_ = pending.stamp;
        held_ = false;
        break;
    case OVT_COMMAND_RESET:
        cores_[pending.core - 1].resets++;
        abort(cores_[pending.core - 1], OVERTAKE_FAULT_RESET);
        break;
    default:
        for (View& view : views_) {
            if (view.job->device.context != pending.context || view.sequence == 0 || view.ended)
                continue;
            Core& core = cores_[view.core - 1];
            if (core.running == &view)
                abort(core, OVERTAKE_FAULT_KILLED);
            else
                view.killed_at = pending.stamp;
            withdraw(view);
        }
    }
}

/// Returns whether the device is held when all pending commands have been consumed.
bool FcChecker::held_in_the_end() const {
    bool held = held_;
    for (const Pending& pending : pending_)
        if (pending.type == OVT_COMMAND_HOLD || pending.type == OVT_COMMAND_RELEASE)
            held = pending.type == OVT_COMMAND_HOLD;
    return held;
}

bool FcChecker::kill_pending(const ovt_fw_context* context, std::uint64_t time) const {
    return std::ranges::any_of(pending_, [&](const Pending& pending) {
        return pending.type == OVT_COMMAND_KILL_CONTEXT && pending.context == context &&
               pending.stamp == time;
    });
}

void FcChecker::command_seen(std::uint64_t order, std::uint64_t stamp, const ovt_event& event) {
    if (order <= last_order_)
        violate("{} ns: a command was consumed twice or out of order", event.time_ns);
    take_pending(order);
    last_order_ = order;
    if (event.time_ns != stamp)
        violate("a command of {} ns took effect at {} ns", stamp, event.time_ns);
}

// Events

void FcChecker::event(const ovt_event& event) {
    if (event.time_ns < time_)
        violate("an event of {} ns after one of {} ns", event.time_ns, time_);
    time_ = event.time_ns;
    switch (event.type) {
    case OVT_EVENT_ARRIVED:
        return arrived(event);
    case OVT_EVENT_STARTED:
        return started(event);
    case OVT_EVENT_PREEMPTED:
        return preempted(event);
    case OVT_EVENT_DONE:
    case OVT_EVENT_FAULT:
    case OVT_EVENT_HUNG:
        return fc_ended(event);
    case OVT_EVENT_ENDED:
        return job_ended(event);
    case OVT_EVENT_CANCELLED:
        return cancelled(event);
    case OVT_EVENT_KILLED:
        return killed(event);
    }
    violate("{} ns: event of unknown type {}", event.time_ns, static_cast<int>(event.type));
}

FcChecker::View& FcChecker::live(const ovt_event& event) {
    View& view = views_.at(Job::of(event.job).number);
    if (view.sequence == 0 || view.ended)
        violate("{} ns: an event of type {} of {}, which {}", event.time_ns,
                static_cast<int>(event.type), name(*view.job),
                view.ended ? "has ended" : "has not arrived");
    return view;
}

std::uint32_t FcChecker::least_loaded() const {
    std::uint32_t best = 1;
    for (std::uint32_t core = 2; core <= cores_.size(); core++)
        if (cores_[core - 1].unfinished < cores_[best - 1].unfinished)
            best = core;
    return best;
}

void FcChecker::arrived(const ovt_event& event) {
    View& view = views_.at(Job::of(event.job).number);
    if (view.sequence != 0)
        violate("{} ns: {} arrives a second time", event.time_ns, name(*view.job));
    command_seen(view.submit_order, view.submit_stamp, event);
    const std::uint32_t asked = view.job->device.core;
    const std::uint32_t right = asked == OVT_CORE_ANY ? least_loaded() : asked;
    if (event.core != right)
        violate(
            "{} ns: {} for core {} went to core {}, core {} has {} unfinished FCs and core {} {}",
            event.time_ns, name(*view.job), asked, event.core, right, cores_[right - 1].unfinished,
            event.core, cores_.at(event.core - 1).unfinished);
    view.sequence = next_sequence_++;
    view.arrival = event.time_ns;
    view.core = event.core;
    Core& core = cores_[view.core - 1];
    core.unfinished += view.count();
    const ovt_fw_context* context = view.job->device.context;
    if (case_.fair && !view.high && first_of(core, context) == nullptr)
        core.circle.push_back(context);
    core.rings[view.high ? 0 : 1].push_back(&view);
}

// Turns of a fair device

/// Returns the oldest job of `context` with FCs to give.
FcChecker::View* FcChecker::first_of(const Core& core, const ovt_fw_context* context) {
    for (View* view : core.rings[1])
        if (view->job->device.context == context && view->given < view->count())
            return view;
    return nullptr;
}

/// Adds the FC whose turn it is to the batch.
void FcChecker::give(Core& core) {
    const ovt_fw_context* context = core.circle.front();
    View* view = first_of(core, context);
    if (core.turn_left == 0)
        core.turn_left = view->job->device.priority / 32 + 1;
    core.turn_left--;
    core.batch.emplace_back(view, view->given++);
    if (first_of(core, context) == nullptr) {
        leave_circle(core, context);
    } else if (core.turn_left == 0) {
        core.circle.pop_front();
        core.circle.push_back(context);
    }
}

void FcChecker::leave_circle(Core& core, const ovt_fw_context* context) {
    if (core.circle.front() == context)
        core.turn_left = 0;
    std::erase(core.circle, context);
}

/// Does the same as choice(), on a fair device on which no FC is committed.
std::pair<FcChecker::View*, std::uint32_t> FcChecker::fair_choice(Core& core) const {
    const auto& high = core.rings[0];
    View* const normal = core.circle.empty() ? nullptr : first_of(core, core.circle.front());
    std::uint64_t most = 0; // FCs of NORMAL
    if (normal != nullptr && core.limit_active == 0)
        most = high.empty() || normal->sequence < high.front()->sequence ? 1 : 0;
    else if (normal != nullptr && high.empty())
        most = std::min<std::uint64_t>(core.limit_active, OVT_RING_ENTRIES);
    else if (normal != nullptr)
        most = core.floor != 0 && core.overtook >= core.floor ? 1 : 0;
    if (most == 0 && high.empty())
        return {nullptr, 0};
    if (most == 0)
        return {high.front(), high.front()->next};
    while (core.batch.size() < most && !core.circle.empty())
        give(core);
    return core.batch.front();
}

/// Returns the FC that the core starts now, by the contract.
std::pair<FcChecker::View*, std::uint32_t> FcChecker::choice(Core& core) const {
    auto& [high, normal] = core.rings;
    if (core.batch.empty())
        core.limit_active = core.limit;
    if (case_.fair)
        return core.batch.empty() ? fair_choice(core) : core.batch.front();
    if (high.empty() && normal.empty())
        return {nullptr, 0};
    const auto head = [](const std::deque<View*>& ring) {
        return std::pair{ring.front(), ring.front()->next};
    };
    if (core.limit_active == 0) {
        if (normal.empty())
            return head(high);
        if (high.empty())
            return head(normal);
        return head(high.front()->sequence < normal.front()->sequence ? high : normal);
    }
    if (core.batch.empty()) {
        const bool starved = core.floor != 0 && core.overtook >= core.floor && !normal.empty();
        if (!high.empty())
            return head(starved ? normal : high);
        for (View* view : normal)
            for (std::uint32_t fc = view->next;
                 fc < view->count() && core.batch.size() < core.limit_active; fc++)
                core.batch.emplace_back(view, fc);
    }
    return core.batch.front();
}

void FcChecker::started(const ovt_event& event) {
    take_pending_until(event.time_ns);
    View& view = live(event);
    Core& core = cores_.at(event.core - 1);
    const bool high = event.ring == OVT_RING_HIGH;
    if (held_)
        violate("{} ns: core {} starts {} between HOLD and RELEASE", event.time_ns, event.core,
                name(*view.job));
    if (core.running != nullptr)
        violate("{} ns: core {} starts {} while it runs {}", event.time_ns, event.core,
                name(*view.job), name(*core.running->job));
    if (view.core != event.core || view.high != high)
        violate("{} ns: {} starts in the wrong place", event.time_ns, name(*view.job));
    if (event.fc_index != view.next || view.withdrawn)
        violate("{} ns: FC {} of {} starts, which {}", event.time_ns, event.fc_index,
                name(*view.job), view.withdrawn ? "was cancelled" : "is not its next");
    const auto [right, index] = choice(core);
    if (right != &view || index != event.fc_index)
        violate("{} ns: core {} starts FC {} of {} before FC {} of {}", event.time_ns, event.core,
                event.fc_index, name(*view.job), index, right ? name(*right->job) : "none");
    std::uint64_t waiting_since = ~0ull;
    for (const auto& ring : core.rings)
        if (!ring.empty())
            waiting_since = std::min(waiting_since, ring.front()->arrival);
    if (event.time_ns != std::max({waiting_since, core.free_since, released_at_}))
        violate(
            "{} ns: core {} was idle since {} ns, {} waited since {} ns; cores were released at "
            "{} ns",
            event.time_ns, event.core, core.free_since, name(*view.job), waiting_since,
            released_at_);
    if (event.resumes != view.overtaken || (core.overtaker && core.overtaker != event.job))
        violate("{} ns: {} starts, not as was said of overtaking", event.time_ns, name(*view.job));
    note_start(core, view, high, event.time_ns);
}

void FcChecker::note_start(Core& core, View& view, bool high, std::uint64_t time) {
    if (!core.batch.empty() && core.batch.front().first == &view)
        core.batch.pop_front();
    if (view.next++ == 0)
        view.first_start = time;
    if (view.waiting() == 0)
        std::erase(core.rings[high ? 0 : 1], &view);
    core.overtook =
        high && core.limit_active != 0 && !core.rings[1].empty() ? core.overtook + 1 : 0;
    if (high) {
        core.high_started++;
        if (core.last_normal != nullptr && !core.last_normal->overtaken)
            violate("{} ns: nothing was said of the preemption of {}", time,
                    name(*core.last_normal->job));
    } else {
        view.preemptions += view.next > 1 && view.high_before != core.high_started;
        view.high_before = core.high_started;
        view.overtaken = false;
        core.last_normal = view.waiting() != 0 ? &view : nullptr;
    }
    core.overtaker = nullptr;
    core.running = &view;
    core.running_fc = view.next - 1;
    core.running_high = high;
    core.start = time;
    core.abort = 0;
    started_++;
}

void FcChecker::preempted(const ovt_event& event) {
    take_pending_until(event.time_ns);
    View& view = live(event);
    Core& core = cores_.at(event.core - 1);
    if (core.last_normal != &view || view.overtaken || core.running != nullptr)
        violate("{} ns: a preemption of {}, which none is", event.time_ns, name(*view.job));
    view.overtaken = true;
    core.overtaker = event.by;
    core.preemptions++;
}

void FcChecker::check_abort(const Core& core, const ovt_event& event) const {
    const Job& job = *core.running->job;
    if (core.abort == 0)
        violate("{} ns: FC {} of {} ends in the middle without a reason", event.time_ns,
                event.fc_index, name(job));
    if (event.type != OVT_EVENT_FAULT || event.job->fault != core.abort)
        violate("{} ns: FC {} of {} was stopped with fault {}, not {}", event.time_ns,
                event.fc_index, name(job), event.job->fault, core.abort);
    if (!functional_ && event.time_ns != core.abort_time)
        violate("FC {} of {}, stopped at {} ns, ended at {} ns", event.fc_index, name(job),
                core.abort_time, event.time_ns);
}

/// Checks that the FC ended as its program ends.
void FcChecker::check_natural_end(const Core& core, const ovt_event& event) const {
    const Job& job = *core.running->job;
    ovt_event_type right = OVT_EVENT_DONE;
    switch (job.segment->fcs[event.fc_index].kind) {
    case FcKind::good:
        break;
    case FcKind::bad_instruction:
        right = OVT_EVENT_FAULT;
        break;
    case FcKind::stuck:
        right = OVT_EVENT_HUNG;
        break;
    }
    if (event.type != right)
        violate("{} ns: FC {} of {} ended as event type {}, not {}", event.time_ns, event.fc_index,
                name(job), static_cast<int>(event.type), static_cast<int>(right));
    if (right == OVT_EVENT_FAULT && event.job->fault != OVERTAKE_FAULT_OPCODE)
        violate("{} ns: the bad instruction of {} is fault {}", event.time_ns, name(job),
                event.job->fault);
}

void FcChecker::fc_ended(const ovt_event& event) {
    if (event.time_ns != 0)
        take_pending_until(event.time_ns - 1);
    View& view = live(event);
    Core& core = cores_.at(event.core - 1);
    if (core.running != &view || core.running_fc != event.fc_index ||
        core.running_high != (event.ring == OVT_RING_HIGH))
        violate("{} ns: FC {} of {} ends on core {}, where it does not run", event.time_ns,
                event.fc_index, name(*view.job), event.core);
    if (event.duration_ns != event.time_ns - core.start)
        violate("{} ns: FC {} of {} says it took {} ns", event.time_ns, event.fc_index,
                name(*view.job), event.duration_ns);
    const Fc& fc = view.job->segment->fcs[event.fc_index];
    const std::uint64_t takes = fc.kind == FcKind::stuck ? case_.watchdog : fc.duration;
    const bool in_time = functional_ || event.time_ns == core.start + takes;
    if (core.abort != 0) {
        check_abort(core, event);
    } else if (in_time && !was_stopped(event)) {
        check_natural_end(core, event);
    } else {
        take_pending_until_abort(core, event.time_ns);
        check_abort(core, event);
    }
    core.running = nullptr;
    core.free_since = event.time_ns;
    core.busy += event.duration_ns;
    core.done[core.running_high ? 0 : 1]++;
    core.unfinished--;
    view.done++;
    view.executed += event.duration_ns;
    if (event.type != OVT_EVENT_DONE) {
        core.faults++;
        view.fault = event.job->fault;
    }
}

/// Removes the FCs of a job that have not started from ring and batch.
void FcChecker::withdraw(View& view) {
    if (view.withdrawn)
        return;
    Core& core = cores_[view.core - 1];
    core.unfinished -= view.waiting();
    view.withdrawn = true;
    std::erase(core.rings[view.high ? 0 : 1], &view);
    std::erase_if(core.batch, [&](const auto& fc) { return fc.first == &view; });
    const ovt_fw_context* context = view.job->device.context;
    if (!core.circle.empty() && first_of(core, context) == nullptr)
        leave_circle(core, context);
    if (core.last_normal == &view)
        core.last_normal = nullptr;
}

void FcChecker::check_totals(const View& view, const ovt_event& event) const {
    const ovt_fw_job& device = *event.job;
    if (device.done != view.done || device.started != view.next ||
        device.executed_ns != view.executed || device.preemptions != view.preemptions ||
        device.placed_core != view.core || device.arrival_ns != view.arrival ||
        device.end_ns != event.time_ns || (view.next != 0 && device.start_ns != view.first_start))
        violate("{} ns: the record of {} does not add up: done {} of {}, started {} of {}, "
                "executed {} of {} ns, preemptions {} of {}",
                event.time_ns, name(*view.job), device.done, view.done, device.started, view.next,
                device.executed_ns, view.executed, device.preemptions, view.preemptions);
}

void FcChecker::job_ended(const ovt_event& event) {
    View& view = live(event);
    const Core& core = cores_[view.core - 1];
    if (core.running == &view)
        violate("{} ns: {} ends while an FC of it runs", event.time_ns, name(*view.job));
    const bool stopped = view.withdrawn ||
                         (view.cancel_order != 0 && view.cancel_stamp == event.time_ns) ||
                         kill_pending(view.job->device.context, event.time_ns);
    bool right = false;
    switch (event.job->status) {
    case OVT_JOB_OK:
        right = view.fault == 0 && view.done == view.count();
        break;
    case OVT_JOB_CANCELLED:
        right = view.fault == OVERTAKE_FAULT_KILLED || (view.fault == 0 && stopped);
        break;
    case OVT_JOB_FAULTED:
        right = view.fault == OVERTAKE_FAULT_OPCODE;
        break;
    case OVT_JOB_HUNG:
        right = view.fault == OVERTAKE_FAULT_WATCHDOG;
        break;
    case OVT_JOB_RESET:
        right = view.fault == OVERTAKE_FAULT_RESET;
        break;
    case OVT_JOB_STOPPED: // jobs are stopped by the clock of a host; this host has none
        break;
    }
    if (!right)
        violate("{} ns: {} ends with status {} after {} of {} FCs", event.time_ns, name(*view.job),
                static_cast<int>(event.job->status), view.done, view.count());
    if (view.killed_at && view.killed_at != event.time_ns)
        violate("{} ns: {} ends, whose context was killed at {} ns", event.time_ns, name(*view.job),
                *view.killed_at);
    withdraw(view);
    check_totals(view, event);
    view.ended = true;
}

void FcChecker::cancelled(const ovt_event& event) {
    View& view = views_.at(Job::of(event.job).number);
    if (view.cancel_order == 0)
        violate("{} ns: {} is cancelled without a request", event.time_ns, name(*view.job));
    command_seen(view.cancel_order, view.cancel_stamp, event);
    if (view.ended)
        return;
    if (view.sequence == 0 || cores_[view.core - 1].running != &view)
        violate("{} ns: {} does not run, and its cancel did not end it", event.time_ns,
                name(*view.job));
    withdraw(view);
}

void FcChecker::killed(const ovt_event& event) {
    const auto kill = std::ranges::find(kills_, event.context, &Killed::context);
    if (kill == kills_.end() || kill->answered)
        violate("{} ns: a context is gone that was not killed, or for the second time",
                event.time_ns);
    kill->answered = true;
    for (const View& view : views_)
        if (view.job->device.context == event.context && view.sequence != 0 && !view.ended)
            violate("{} ns: the context of {} is gone before it", event.time_ns, name(*view.job));
}

// States

void FcChecker::settled() const {
    if (held_in_the_end())
        return;
    for (const Core& core : cores_) {
        if (core.running != nullptr)
            continue;
        for (const auto& ring : core.rings)
            if (!ring.empty())
                violate("core {} is idle while {} waits", &core - cores_.data() + 1,
                        name(*ring.front()->job));
    }
}

void FcChecker::finish(const ovt_fw& firmware) {
    take_pending(~0ull);
    for (const View& view : views_)
        if (!view.ended)
            violate("{} never ended", name(*view.job));
    for (const Killed& kill : kills_)
        if (!kill.answered)
            violate("a killed context is never gone");
    for (std::uint32_t number = 1; number <= cores_.size(); number++) {
        const Core& core = cores_[number - 1];
        const ovt_core& hw = firmware.config.cores[number - 1];
        const ovt_fw_core& state = firmware.config.core_states[number - 1];
        if (hw.busy_ns != core.busy || hw.done[0] != core.done[0] || hw.done[1] != core.done[1])
            violate("core {} was busy for {} ns and says {}", number, core.busy, hw.busy_ns);
        if (state.preemptions != core.preemptions || state.faults != core.faults)
            violate("core {} counts {} preemptions and {} faults of {} and {}", number,
                    state.preemptions, state.faults, core.preemptions, core.faults);
        if (state.resets != core.resets)
            violate("core {} counts {} resets of {}", number, state.resets, core.resets);
        if (ovt_fw_unfinished(&firmware, number) != 0 || core.unfinished != 0)
            violate("core {} has nothing to do and {} unfinished FCs", number,
                    ovt_fw_unfinished(&firmware, number));
    }
    if (firmware.commands_reserved != 0)
        violate("{} slots of the command queue are reserved for nothing",
                firmware.commands_reserved);
}

} // namespace overtake::fuzz
