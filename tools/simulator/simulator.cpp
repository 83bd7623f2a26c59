// SPDX-License-Identifier: MIT
#include "simulator/simulator.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "overtake/device.hpp"
#include "simulator/arrivals.hpp"
#include "simulator/live_tasks.hpp"
#include "simulator/parts.hpp"
#include "simulator/reader.hpp"
#include "simulator/scheduler_storage.hpp"

namespace overtake::simulator {
namespace {

constexpr std::uint64_t never = ArrivalSource::never;

/// A CPU segment that runs.
struct CpuRun {
    std::uint64_t end;
    std::uint64_t dispatch_sequence;
    LiveTask* task;
    std::uint64_t serial; ///< of the task; if it differs, the process died meanwhile

    bool operator>(const CpuRun& other) const {
        return std::tie(end, dispatch_sequence) > std::tie(other.end, other.dispatch_sequence);
    }
};

template <class Item>
using MinHeap = std::priority_queue<Item, std::vector<Item>, std::greater<>>;

} // namespace

class Simulator::Simulation {
public:
    Simulation(const Scenario& scenario, std::uint64_t seed, std::span<Observer* const> observers)
        : scenario_(scenario), seed_(seed), observers_(observers.begin(), observers.end()),
          storage_(scenario), limits_(scenario.core_limits) {
        start_firmware();
        if (scenario.kind == Kind::task)
            start_scheduler();
        order_listed();
        make_program();
        for (std::size_t i = 0; i < scenario.loads.size(); i++)
            sources_.emplace_back(scenario.loads[i], seed * 0x9e3779b97f4a7c15 + i);
        for (const Load& load : scenario.loads)
            timeouts_.emplace_back(load.timeout);
        pending_.assign(scenario.loads.size(), 0);
        generated_of_.assign(scenario.loads.size(), 0);
        find_next_load();
    }

    void run() {
        for (;;) {
            const std::uint64_t instant = next_instant();
            if (instant == never)
                return;
            if (instant > time_limit)
                throw Error(ERANGE, "virtual time passed 2^63 us: give the loads a smaller until");
            now_ = instant;
            prepare();
            end_segments();
            arrivals();
            cancels();
            change_limits();
            deaths();
            dispatch();
            advance();
        }
    }

private:
    void start_firmware() {
        const ovt_fw_config config = {
            .profile = &storage_.profile,
            .mode = OVT_MODE_TIMED,
            .core_count = scenario_.cores,
            .fair = scenario_.fair,
            .quota_ns = 0,
            .watchdog_cycles = never,
            .clock = {}, // no client waits for this host
            .lag_max_ns = 0,
            .stretch_max_ns = 0,
            .cores = storage_.cores.data(),
            .core_states = storage_.core_states.data(),
            .commands = storage_.commands.data(),
            .command_count = Storage::command_count,
            .events = storage_.events.data(),
            .event_count = Storage::event_count,
        };
        ovt_fw_init(&fw_, &config);
        start_contexts();
        for (std::uint32_t core = 1; core <= scenario_.cores; core++) {
            ovt_fw_reserve(&fw_, 2);
            ovt_fw_limit(&fw_, core, scenario_.core_limits[core - 1], 0);
            ovt_fw_normal_floor(&fw_, core, scenario_.normal_floors[core - 1], 0);
        }
        prepare();
    }

    void start_contexts() {
        for (std::size_t i = 0; i < storage_.contexts.size(); i++) {
            ovt_fw_context_init(&storage_.contexts[i]);
            if (scenario_.fair)
                ovt_fw_context_take_turns(&storage_.contexts[i],
                                          &storage_.turns[i * scenario_.cores], scenario_.cores);
        }
    }

    void start_scheduler() {
        ovt_sched_init(&sched_, scenario_.cores, &scenario_.settings);
        sched_.dispatched = tell_dispatched;
        sched_.host = this;
        for (std::size_t i = 0; i < storage_.queues.size(); i++)
            ovt_sched_add_queue(&sched_, &storage_.queues[i],
                                &storage_.queue_cores[i * scenario_.cores]);
        for (std::size_t i = 0; i < storage_.processes.size(); i++)
            ovt_sched_add_process(&sched_, &storage_.processes[i],
                                  &storage_.queues[scenario_.service_mode ? 0 : i],
                                  &storage_.lines[i * scenario_.cores]);
        for (const Workers& workers : scenario_.workers)
            storage_.processes[workers.process].worker_count = workers.count;
    }

    void order_listed() {
        listed_order_.resize(scenario_.listed.size());
        std::iota(listed_order_.begin(), listed_order_.end(), std::size_t{0});
        std::ranges::stable_sort(listed_order_, {},
                                 [&](std::size_t i) { return scenario_.listed[i].at; });
        cancels_ = scenario_.cancels;
        std::ranges::stable_sort(cancels_, {}, &Cancel::at);
        deaths_ = scenario_.deaths;
        std::ranges::stable_sort(deaths_, {}, &Death::at);
        dead_.assign(scenario_.processes.size(), false);
        if (!cancels_.empty())
            listed_live_.assign(scenario_.listed.size(), nullptr);
    }

    std::uint64_t next_instant() const {
        std::uint64_t next = std::min(ovt_fw_next(&fw_), next_load_);
        if (next_listed_ < listed_order_.size())
            next = std::min(next, scenario_.listed[listed_order_[next_listed_]].at);
        if (next_cancel_ < cancels_.size())
            next = std::min(next, cancels_[next_cancel_].at);
        if (next_limit_ < scenario_.limits.size())
            next = std::min(next, scenario_.limits[next_limit_].at);
        if (next_death_ < deaths_.size())
            next = std::min(next, deaths_[next_death_].at);
        if (!cpu_runs_.empty())
            next = std::min(next, cpu_runs_.top().end);
        if (scenario_.kind == Kind::task)
            next = std::min<std::uint64_t>(next, ovt_sched_next_time(&sched_));
        for (const TimeoutQueue& queue : timeouts_)
            next = std::min(next, queue.next());
        return next;
    }

    // The device.

    /// Lets FCs end and commands take effect; no core chooses yet.
    void prepare() {
        while (ovt_fw_prepare(&fw_, now_) == OVT_ADVANCE_EVENTS)
            take_events();
        take_events();
    }

    /// Lets idle cores choose.
    void advance() {
        while (ovt_fw_advance(&fw_, now_) == OVT_ADVANCE_EVENTS)
            take_events();
        take_events();
    }

    void take_events() {
        ovt_event event;
        while (ovt_fw_pop_event(&fw_, &event))
            take_event(event);
    }

    static LiveTask& owner(ovt_fw_job* job) {
        return *reinterpret_cast<LiveTask*>(reinterpret_cast<std::byte*>(job) -
                                            offsetof(LiveTask, job));
    }

    void take_event(const ovt_event& event) {
        switch (event.type) {
        case OVT_EVENT_STARTED:
            start_fc(event, owner(event.job));
            break;
        case OVT_EVENT_DONE:
            for (Observer* observer : observers_)
                observer->fc_ended(owner(event.job), event.core, now_);
            break;
        case OVT_EVENT_PREEMPTED:
            for (Observer* observer : observers_)
                observer->preempted(owner(event.job), event.core, now_);
            break;
        case OVT_EVENT_ENDED:
            end_job(owner(event.job));
            break;
        default:
            break;
        }
    }

    void start_fc(const ovt_event& event, LiveTask& task) {
        const std::size_t part = task.parts().empty() ? 0 : event.part - task.parts().data();
        const std::uint64_t duration = duration_of(task, part, event.fc_index);
        if (duration > time_limit - now_)
            throw Error(ERANGE, "virtual time passed 2^63 us: give the loads a smaller until");
        ovt_core_charge(&storage_.cores[event.core - 1], duration);
        ovt_fw_executed(&fw_, event.core, now_);
        task.fc_part = static_cast<std::uint32_t>(part);
        task.fc_stage = task.parts().empty() ? 0 : event.part->stages[event.fc_index];
        for (Observer* observer : observers_)
            observer->fc_started(task, event.core, event.ring == OVT_RING_HIGH, event.fc_index,
                                 now_, now_ + duration);
    }

    std::uint32_t segment_number(const LiveTask& task) const {
        return scenario_.kind == Kind::task ? task.sched.segment : 0;
    }

    const Chain::Segment& segment_of(const LiveTask& task) const {
        return task.kind->chain->segments[segment_number(task)];
    }

    JitterKey key_of(const LiveTask& task, std::uint32_t fc) const {
        return {.seed = seed_,
                .source = task.load == LiveTask::not_a_load ? ~std::uint64_t{0} : task.load,
                .number = task.number_of_source,
                .segment = segment_number(task),
                .fc = fc};
    }

    /// Returns the duration of an FC, or `never` if the duration is too long for the simulation.
    std::uint64_t duration_of(const LiveTask& task, std::size_t part, std::uint32_t fc) const {
        const Chain::Segment& segment = segment_of(task);
        const std::size_t at = fc + (segment.parts ? segment.parts->list[part].first : 0);
        const std::uint64_t time =
            scenario_.fc_jitter.of(segment.fcs[at], key_of(task, static_cast<std::uint32_t>(at)));
        const std::uint64_t cost = fc == 0 ? scenario_.dispatch_cost : 0;
        return cost < never - time ? time + cost : never;
    }

    void end_job(LiveTask& task) {
        task.preemptions += task.job.preemptions;
        for (Observer* observer : observers_)
            observer->job_ended(task, now_);
        if (scenario_.kind == Kind::task)
            segments_ended_.push_back(&task);
        else
            end_task(task);
    }

    /// Submits a BPU segment. Its commands take effect at once: the next decision counts its FCs.
    void submit(LiveTask& task, std::uint32_t segment, std::uint32_t core) {
        const Chain::Segment& fcs = task.kind->chain->segments[segment];
        task.job = {};
        task.job.context = &storage_.contexts[task.kind->context];
        task.job.fcs = program_.data();
        task.job.fc_count = static_cast<u32>(fcs.fcs.size());
        task.job.core = core;
        task.job.priority = task.kind->priority;
        set_group(task, fcs, program_.data(), core);
        ovt_fw_reserve(&fw_, 1);
        ovt_fw_submit(&fw_, &task.job, now_);
        prepare();
        for (Observer* observer : observers_)
            observer->submitted(task, segment, now_);
    }

    /// Makes FCs without code, as many as the longest segment has: the simulator charges FCs and
    /// executes none.
    void make_program() {
        std::size_t longest = 0;
        const auto look = [&](const TaskKind& kind) {
            for (const Chain::Segment& segment : kind.chain->segments)
                longest = std::max(longest, segment.fcs.size());
        };
        for (const Listed& listed : scenario_.listed)
            look(listed.kind);
        for (const Load& load : scenario_.loads)
            look(load.kind);
        program_.resize(longest);
    }

    // Tasks.

    void arrivals() {
        for (; next_listed_ < listed_order_.size(); next_listed_++) {
            const std::size_t number = listed_order_[next_listed_];
            const Listed& listed = scenario_.listed[number];
            if (listed.at != now_)
                break;
            arrive(listed.kind, number, LiveTask::not_a_load);
        }
        if (next_load_ != now_)
            return;
        for (std::size_t i = 0; i < sources_.size(); i++)
            while (sources_[i].next() == now_)
                generated_arrival(i);
        find_next_load();
    }

    void generated_arrival(std::size_t index) {
        const Load& load = scenario_.loads[index];
        sources_[index].take();
        if (scenario_.kind == Kind::task && dead_[load.kind.process])
            return;
        const std::uint64_t number = generated_++;
        const std::uint64_t number_of_load = generated_of_[index]++;
        if (load.max_pending && pending_[index] >= *load.max_pending) {
            for (Observer* observer : observers_)
                observer->dropped(load, now_);
            return;
        }
        pending_[index]++;
        LiveTask& task = arrive(load.kind, number, static_cast<std::uint32_t>(index));
        task.number_of_source = number_of_load;
        timeouts_[index].arrived(task);
    }

    LiveTask& arrive(const TaskKind& kind, std::uint64_t number, std::uint32_t load) {
        LiveTask& task = pool_.take();
        task.kind = &kind;
        task.number = number;
        task.number_of_source = number;
        task.load = load;
        task.arrival = now_;
        task.preemptions = 0;
        task.cancelled = false;
        if (load == LiveTask::not_a_load && !listed_live_.empty())
            listed_live_[number] = &task;
        for (Observer* observer : observers_)
            observer->arrived(task, now_);
        if (scenario_.kind == Kind::fc) {
            submit(task, 0, kind.core);
            return task;
        }
        task.sched.process = &storage_.processes[kind.process];
        task.sched.segments = kind.chain->schedule.data();
        task.sched.segment_count = static_cast<u32>(kind.chain->schedule.size());
        task.sched.priority = kind.priority;
        task.sched.core = kind.core;
        set_span(task, *kind.chain);
        task.sched.custom_id = kind.custom_id;
        task.sched.deadline = kind.slo && *kind.slo < never - now_ ? now_ + *kind.slo : never;
        ovt_sched_arrive(&sched_, &task.sched, now_);
        return task;
    }

    static LiveTask& owner(ovt_sched_task* task) {
        return *reinterpret_cast<LiveTask*>(reinterpret_cast<std::byte*>(task) -
                                            offsetof(LiveTask, sched));
    }

    /// Ends jobs and CPU segments that end now, in the order in which their tasks were dispatched.
    void end_segments() {
        while (!cpu_runs_.empty() && cpu_runs_.top().end == now_) {
            const CpuRun ended = cpu_runs_.top();
            cpu_runs_.pop();
            if (ended.task->serial != ended.serial)
                continue;
            LiveTask& task = *ended.task;
            for (Observer* observer : observers_)
                observer->cpu_ended(task, now_);
            segments_ended_.push_back(&task);
        }
        if (segments_ended_.size() > 1)
            std::ranges::sort(segments_ended_, {},
                              [](const LiveTask* task) { return task->sched.dispatch_sequence; });
        // An action may end another job only if it cancels that job; see cancel_job().
        for (std::size_t i = 0; i < segments_ended_.size(); i++)
            segment_ended(*segments_ended_[i]);
        segments_ended_.clear();
    }

    void segment_ended(LiveTask& task) {
        const bool ok = task.sched.state != OVT_SCHED_BPU || task.job.status == OVT_JOB_OK;
        ovt_sched_action action;
        if (ovt_sched_segment_ended(&sched_, &task.sched, ok, now_, &action))
            carry_out(action);
        else
            tell_waiting(task);
    }

    static void tell_dispatched(void* simulation, ovt_sched_task* task) {
        const auto* self = static_cast<Simulation*>(simulation);
        for (Observer* observer : self->observers_)
            observer->dispatched(owner(task), self->now_);
    }

    void tell_waiting(LiveTask& task) {
        for (Observer* observer : observers_) {
            if (task.sched.state == OVT_SCHED_READY)
                observer->ready(task, now_);
            else
                observer->cpu_waiting(task, now_);
        }
    }

    void carry_out(const ovt_sched_action& action) {
        LiveTask& task = owner(action.task);
        switch (action.type) {
        case OVT_SCHED_SUBMIT:
            submit(task, action.segment, core_for(task, action));
            break;
        case OVT_SCHED_RUN_CPU:
            run_cpu(task, action.segment);
            break;
        case OVT_SCHED_CANCEL_JOB:
            cancel_job(task);
            break;
        case OVT_SCHED_OVERDUE:
            for (Observer* observer : observers_)
                observer->overdue(task, now_);
            break;
        case OVT_SCHED_END:
            task.cancelled = task.sched.cancelled;
            end_task(task);
            break;
        }
    }

    /// Returns the core of the action; if the action names none, the core with the least to do.
    std::uint32_t core_for(LiveTask& task, const ovt_sched_action& action) {
        if (action.core != 0)
            return action.core;
        const ovt_fw_context& context = storage_.contexts[task.kind->context];
        if (task.sched.span == nullptr) {
            const std::uint32_t core = ovt_fw_place(&fw_, &context, action.cores);
            ovt_sched_placed(&sched_, &task.sched, core);
            return core;
        }
        const std::uint64_t cores = settle_cores(task, fw_, context, action.cores);
        const std::uint32_t first = task.wide->cores.front();
        ovt_sched_placed_on(&sched_, &task.sched, first, cores);
        return first;
    }

    void run_cpu(LiveTask& task, std::uint32_t segment) {
        const std::uint64_t time =
            scenario_.cpu_jitter.of(task.kind->chain->segments[segment].time, key_of(task, 0));
        if (time > time_limit - now_)
            throw Error(ERANGE, "virtual time passed 2^63 us: give the loads a smaller until");
        cpu_runs_.push({now_ + time, task.sched.dispatch_sequence, &task, task.serial});
        for (Observer* observer : observers_)
            observer->cpu_started(task, segment, now_, now_ + time);
    }

    void cancel_job(LiveTask& task) {
        ovt_fw_reserve(&fw_, 1);
        ovt_fw_cancel(&fw_, &task.job, now_);
        prepare();
        end_segments();
    }

    void cancel(LiveTask& task) {
        if (scenario_.kind == Kind::fc) {
            if (!std::exchange(task.cancelled, true))
                cancel_job(task);
            return;
        }
        ovt_sched_action action;
        if (ovt_sched_cancel(&sched_, &task.sched, &action))
            carry_out(action);
    }

    void cancels() {
        for (; next_cancel_ < cancels_.size() && cancels_[next_cancel_].at == now_;
             next_cancel_++) {
            LiveTask* task = listed_live_[cancels_[next_cancel_].listed];
            if (task != nullptr)
                cancel(*task);
        }
        while (TimeoutQueue* const queue = first_timed_out()) {
            LiveTask& task = *queue->first();
            queue->forget(task);
            cancel(task);
        }
    }

    void change_limits() {
        for (; next_limit_ < scenario_.limits.size() && scenario_.limits[next_limit_].at == now_;
             next_limit_++) {
            const LimitChange& change = scenario_.limits[next_limit_];
            const std::uint32_t before = std::exchange(limits_[change.core - 1], change.limit);
            ovt_fw_reserve(&fw_, 1);
            ovt_fw_limit(&fw_, change.core, change.limit, now_);
            prepare();
            for (Observer* observer : observers_)
                observer->limit_changed(change.core, before, change.limit, now_);
        }
    }

    /// Ends a process and its CPU workers.
    void deaths() {
        for (; next_death_ < deaths_.size() && deaths_[next_death_].at == now_; next_death_++) {
            const std::uint32_t process = deaths_[next_death_].process;
            dead_[process] = true;
            ovt_sched_action action;
            while (ovt_sched_abandon(&sched_, &storage_.processes[process], &action)) {
                if (action.type == OVT_SCHED_END)
                    for (Observer* observer : observers_)
                        observer->abandoned(owner(action.task), now_);
                carry_out(action);
            }
        }
    }

    /// Returns the queue of the task that arrived first, of all tasks that time out now.
    TimeoutQueue* first_timed_out() {
        TimeoutQueue* best = nullptr;
        for (TimeoutQueue& queue : timeouts_)
            if (queue.next() == now_ &&
                (best == nullptr || queue.first()->serial < best->first()->serial))
                best = &queue;
        return best;
    }

    void dispatch() {
        if (scenario_.kind == Kind::fc)
            return;
        ovt_sched_action action;
        while (ovt_sched_next(&sched_, now_, &action))
            carry_out(action);
    }

    void end_task(LiveTask& task) {
        for (Observer* observer : observers_)
            observer->ended(task, now_);
        if (task.load == LiveTask::not_a_load) {
            if (!listed_live_.empty())
                listed_live_[task.number] = nullptr;
        } else {
            pending_[task.load]--;
            if (timeouts_[task.load].holds(task))
                timeouts_[task.load].forget(task);
            sources_[task.load].task_ended(now_);
            next_load_ = std::min(next_load_, sources_[task.load].next());
        }
        pool_.give_back(task);
    }

    void find_next_load() {
        next_load_ = never;
        for (const ArrivalSource& source : sources_)
            next_load_ = std::min(next_load_, source.next());
    }

    const Scenario& scenario_;
    std::uint64_t seed_;
    std::vector<Observer*> observers_;
    Storage storage_;
    ovt_fw fw_;
    ovt_sched sched_;
    std::uint64_t now_ = 0;
    TaskPool pool_;
    std::vector<ovt_fc> program_;
    std::vector<std::size_t> listed_order_; ///< by arrival
    std::size_t next_listed_ = 0;
    std::vector<LiveTask*> listed_live_; ///< by number; only where there are cancels
    std::vector<Cancel> cancels_;        ///< by time
    std::size_t next_cancel_ = 0;
    std::vector<std::uint32_t> limits_; ///< the limit that each core got last
    std::size_t next_limit_ = 0;
    std::vector<Death> deaths_; ///< by time
    std::size_t next_death_ = 0;
    std::vector<bool> dead_; ///< by process
    std::vector<ArrivalSource> sources_;
    std::vector<std::uint32_t> pending_; ///< by load: tasks that have arrived and not ended
    std::uint64_t next_load_ = never;
    std::uint64_t generated_ = 0;
    std::vector<std::uint64_t> generated_of_; ///< by load
    MinHeap<CpuRun> cpu_runs_;
    std::vector<TimeoutQueue> timeouts_; ///< by load
    std::vector<LiveTask*> segments_ended_;
};

Simulator::Simulator(const Scenario& scenario, std::uint64_t seed,
                     std::span<Observer* const> observers)
    : simulation_(std::make_unique<Simulation>(scenario, seed, observers)) {}

Simulator::~Simulator() = default;

void Simulator::run() {
    simulation_->run();
}

} // namespace overtake::simulator
