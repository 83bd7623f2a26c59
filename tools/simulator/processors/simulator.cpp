// SPDX-License-Identifier: MIT
#include "simulator/processors/simulator.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "overtake/device.hpp"
#include "simulator/arrivals.hpp"
#include "simulator/firmware.hpp"
#include "simulator/processors/live_models.hpp"
#include "simulator/reader.hpp"

namespace overtake::simulator::processors {
namespace {

constexpr std::uint64_t never = ArrivalSource::never;
constexpr std::uint32_t queue_length = 256;

} // namespace

class ProcessorSimulator::Simulation {
public:
    Simulation(const ProcessorScenario& scenario, std::uint64_t seed,
               std::span<Observer* const> observers)
        : scenario_(scenario), observers_(observers.begin(), observers.end()),
          cores_(scenario.cores), core_states_(scenario.cores), commands_(queue_length),
          events_(queue_length), works_(scenario.processors.size(), true),
          factors_(scenario.processors.size(), 100) {
        for (std::uint32_t i = 0; i < scenario.processors.size(); i++) {
            processors_.push_back(scenario.processors[i].described);
            if (scenario.processors[i].core != 0)
                processor_of_core_.push_back(i);
        }
        ovt_coord_init(&coord_, &scenario.settings, processors_.data(), count_of(processors_),
                       count_of(scenario.entries), count_of(scenario.class_names),
                       scenario.rates.data());
        models_.emplace(scenario, coord_);
        program_.resize(models_->longest_program());
        if (scenario.cores != 0)
            start_firmware();
        order_listed();
        for (std::size_t i = 0; i < scenario.loads.size(); i++)
            sources_.emplace_back(scenario.loads[i].arrivals, seed * 0x9e3779b97f4a7c15 + i);
        pending_.assign(scenario.loads.size(), 0);
        recovers_left_.assign(scenario.processors.size(), 0);
        for (const ProcessorEvent& event : scenario.events)
            recovers_left_[event.processor] += event.type == EventType::recover;
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
            end_on_pools();
            end_runs();
            events();
            trials();
            arrivals();
            cancels();
            act();
            advance();
        }
    }

    std::uint64_t steps() const { return coord_.steps; }

private:
    template <class Call>
    void tell(Call call) {
        for (Observer* observer : observers_)
            call(*observer);
    }

    template <class Items>
    static u32 count_of(const Items& items) {
        return static_cast<u32>(items.size());
    }

    void start_firmware() {
        const ovt_fw_config config = {
            .profile = ovt_profile_find("ideal"), // its cycle is the scenario's tick
            .mode = OVT_MODE_TIMED,
            .core_count = scenario_.cores,
            .fair = false,
            .quota_ns = 0,
            .watchdog_cycles = never,
            .clock = {}, // no client waits for this host
            .lag_max_ns = 0,
            .stretch_max_ns = 0,
            .cores = cores_.data(),
            .core_states = core_states_.data(),
            .commands = commands_.data(),
            .command_count = queue_length,
            .events = events_.data(),
            .event_count = queue_length,
        };
        ovt_fw_init(&fw_, &config);
        ovt_fw_context_init(&context_);
        for (const Processor& processor : scenario_.processors) {
            if (processor.core == 0)
                continue;
            ovt_fw_reserve(&fw_, 1);
            ovt_fw_limit(
                &fw_, processor.core,
                static_cast<u32>(std::min<std::uint64_t>(processor.described.core_limit, ~u32{0})),
                0);
            prepare();
        }
    }

    void order_listed() {
        listed_order_.resize(scenario_.listed.size());
        std::iota(listed_order_.begin(), listed_order_.end(), std::size_t{0});
        std::ranges::stable_sort(listed_order_, {},
                                 [&](std::size_t i) { return scenario_.listed[i].at; });
        listed_live_.assign(scenario_.listed.size(), nullptr);
    }

    std::uint64_t next_instant() const {
        std::uint64_t next = scenario_.cores != 0 ? ovt_fw_next(&fw_) : never;
        next = std::min<std::uint64_t>(next, ovt_coord_next_deadline(&coord_));
        next = std::min<std::uint64_t>(next, ovt_coord_next_trial(&coord_, tried()));
        if (next_listed_ < listed_order_.size())
            next = std::min(next, scenario_.listed[listed_order_[next_listed_]].at);
        if (next_cancel_ < scenario_.cancels.size())
            next = std::min(next, scenario_.cancels[next_cancel_].at);
        if (next_event_ < scenario_.events.size())
            next = std::min(next, scenario_.events[next_event_].at);
        for (const LiveTask::Run* run : on_workers_)
            next = std::min(next, run->fc_end);
        for (const ArrivalSource& source : sources_)
            next = std::min(next, source.next());
        return next;
    }

    /// Returns the processors whose trials matter: those that work, and those that will recover.
    std::uint64_t tried() const {
        std::uint64_t processors = 0;
        for (std::size_t i = 0; i < works_.size(); i++)
            if (works_[i] || recovers_left_[i] != 0)
                processors |= std::uint64_t{1} << i;
        return processors;
    }

    // The device.

    void prepare() {
        if (scenario_.cores == 0)
            return;
        while (ovt_fw_prepare(&fw_, now_) == OVT_ADVANCE_EVENTS)
            take_events();
        take_events();
    }

    void advance() {
        if (scenario_.cores == 0)
            return;
        while (ovt_fw_advance(&fw_, now_) == OVT_ADVANCE_EVENTS)
            take_events();
        take_events();
    }

    void take_events() {
        ovt_event event;
        while (ovt_fw_pop_event(&fw_, &event))
            take_event(event);
    }

    static LiveTask::Run& run_of(ovt_fw_job* job) {
        return *reinterpret_cast<LiveTask::Run*>(reinterpret_cast<std::byte*>(job) -
                                                 offsetof(LiveTask::Run, job));
    }
    static LiveTask& task_of(ovt_coord_task* task) {
        return *reinterpret_cast<LiveTask*>(reinterpret_cast<std::byte*>(task) -
                                            offsetof(LiveTask, coord));
    }
    static LiveTask& task_of(const LiveTask::Run& run) { return task_of(run.run->task); }

    void take_event(const ovt_event& event) {
        switch (event.type) {
        case OVT_EVENT_STARTED:
            start_fc(event, run_of(event.job));
            break;
        case OVT_EVENT_DONE:
        case OVT_EVENT_FAULT:
            end_fc(run_of(event.job));
            break;
        case OVT_EVENT_ENDED:
            ended_.push_back(&run_of(event.job));
            break;
        case OVT_EVENT_PREEMPTED:
            tell([&](Observer& observer) {
                observer.preempted(task_of(run_of(event.job)), run_of(event.job), now_);
            });
            break;
        default:
            break;
        }
    }

    std::uint64_t lasts(std::uint32_t processor, std::uint64_t time) const {
        return (time * factors_[processor] + 99) / 100;
    }

    void start_fc(const ovt_event& event, LiveTask::Run& run) {
        const std::uint32_t processor = run.run->processor;
        std::uint64_t duration = lasts(processor, run.fcs[event.fc_index]);
        if (event.fc_index == 0)
            duration += run.run->lead;
        if (duration > time_limit - now_)
            throw Error(ERANGE, "virtual time passed 2^63 us: give the loads a smaller until");
        ovt_core_charge(&cores_[event.core - 1], duration);
        ovt_fw_executed(&fw_, event.core, now_);
        run.fc_start = now_;
        run.fc_end = now_ + duration;
        run.fc_runs = true;
        for (Observer* observer : observers_) {
            if (!run.started)
                observer->run_started(task_of(run), run, now_);
            observer->fc_started(task_of(run), run, event.ring == OVT_RING_HIGH, event.fc_index,
                                 now_);
        }
        run.started = true;
    }

    void end_fc(LiveTask::Run& run) {
        run.executed += now_ - run.fc_start;
        run.fc_runs = false;
        tell([&](Observer& observer) { observer.fc_ended(task_of(run), run, now_); });
    }

    // Runs.

    void dispatch(LiveTask& task, ovt_coord_run& described) {
        LiveTask::Run& run =
            task.host_runs[static_cast<std::size_t>(&described - task.runs.data())];
        run.run = &described;
        run.executed = 0;
        run.fc_runs = false;
        run.started = false;
        run.cancel_sent = false;
        described.host = &run;
        tell([&](Observer& observer) { observer.dispatched(task, run, now_); });
        const Processor& processor = scenario_.processors[described.processor];
        const Model& model = scenario_.models[task.kind->model];
        run.fcs.clear();
        for (std::uint64_t rest = described.units; rest != 0; rest &= rest - 1) {
            const auto& fcs = model.fcs[static_cast<std::size_t>(__builtin_ctzll(rest))]
                                       [processor.described.class_index];
            run.fcs.insert(run.fcs.end(), fcs.begin(), fcs.end());
        }
        if (processor.core == 0)
            return;
        run.job = {};
        run.job.context = &context_;
        run.job.fcs = program_.data();
        run.job.fc_count = count_of(run.fcs);
        run.job.core = processor.core;
        run.job.priority = task.kind->priority;
        ovt_fw_reserve(&fw_, 1);
        ovt_fw_submit(&fw_, &run.job, now_);
        prepare();
    }

    /// Starts a run on a worker of a pool.
    void start(LiveTask& task, const ovt_coord_run& described) {
        auto& run = *static_cast<LiveTask::Run*>(described.host);
        std::uint64_t time = described.lead;
        for (const std::uint64_t unit : run.fcs)
            time += lasts(described.processor, unit);
        if (time > time_limit - now_)
            throw Error(ERANGE, "virtual time passed 2^63 us: give the loads a smaller until");
        run.fc_start = now_;
        run.fc_end = now_ + time;
        run.fc_runs = true;
        run.started = true;
        on_workers_.push_back(&run);
        tell([&](Observer& observer) { observer.run_started(task, run, now_); });
    }

    void end_on_pools() {
        std::erase_if(on_workers_, [&](LiveTask::Run* run) {
            if (run->fc_end != now_)
                return false;
            run->executed = now_ - run->fc_start;
            run->fc_runs = false;
            ended_.push_back(run);
            return true;
        });
    }

    void end_runs() {
        report_ended();
        leave_nothing_to_do();
    }

    /// Reports the runs that ended, in the order in which they were dispatched.
    void report_ended() {
        std::ranges::sort(ended_, {},
                          [](const LiveTask::Run* run) { return run->run->dispatch_sequence; });
        std::vector<LiveTask::Run*> ended;
        ended.swap(ended_);
        for (LiveTask::Run* run : ended)
            end_run(*run, is_cancelled(*run) ? OVT_COORD_CANCELLED : OVT_COORD_DONE);
    }

    bool is_cancelled(const LiveTask::Run& run) const {
        return scenario_.processors[run.run->processor].core != 0 && run.job.status != OVT_JOB_OK;
    }

    void end_run(LiveTask::Run& run, ovt_coord_status how) {
        const ovt_coord_end end = {
            .status = how, .fault = false, .started = run.started, .executed = run.executed};
        LiveTask& task = task_of(run);
        const ovt_coord_status status = ovt_coord_run_ended(&coord_, run.run, &end, now_);
        tell([&](Observer& observer) { observer.run_ended(task, run, status, now_); });
    }

    /// Cancels a run of a task that ends. On a pool, a run that executes ends as usual.
    void cancel_run(LiveTask::Run& run) {
        if (scenario_.processors[run.run->processor].core == 0) {
            if (!run.started)
                end_run(run, OVT_COORD_CANCELLED);
            return;
        }
        cancel_job(run);
        report_ended(); // no recursion, since a task may have many runs: the rest is done next
    }

    void cancel_job(LiveTask::Run& run) {
        if (std::exchange(run.cancel_sent, true))
            return;
        ovt_fw_reserve(&fw_, 1);
        ovt_fw_cancel(&fw_, &run.job, now_);
        prepare();
    }

    // Events.

    void events() {
        for (; next_event_ < scenario_.events.size() && scenario_.events[next_event_].at == now_;
             next_event_++) {
            const ProcessorEvent& event = scenario_.events[next_event_];
            if (event.type == EventType::throttle)
                factors_[event.processor] = event.factor;
            else
                works_[event.processor] = event.type == EventType::recover;
            recovers_left_[event.processor] -= event.type == EventType::recover;
            if (event.type == EventType::fail)
                fail(event.processor);
        }
    }

    /// Fails a processor: runs that execute end now, and all runs of the processor fail, in the
    /// order in which they were dispatched.
    void fail(std::uint32_t processor) {
        if (!ovt_coord_fail(&coord_, processor, now_))
            return;
        tell([&](Observer& observer) { observer.out_of_use(processor, now_); });
        if (scenario_.processors[processor].core != 0)
            stop_core(processor);
        while (ovt_coord_run* const described = ovt_coord_first_run(&coord_, processor)) {
            auto& run = *static_cast<LiveTask::Run*>(described->host);
            if (run.fc_runs) { // the run is on a worker
                run.executed = now_ - run.fc_start;
                run.fc_runs = false;
                std::erase(on_workers_, &run);
            }
            end_run(run, OVT_COORD_FAILED);
        }
        leave_nothing_to_do();
    }

    void stop_core(std::uint32_t processor) {
        const std::uint32_t core = scenario_.processors[processor].core;
        const ovt_coord_processor& described = processors_[processor];
        for (const ovt_list* queue : {&described.queued_high, &described.queued_below})
            for (const ovt_list* link = queue->next; link != queue; link = link->next) {
                const auto* run = ovt_container_of(link, const ovt_coord_run, of_processor);
                cancel_job(*static_cast<LiveTask::Run*>(run->host));
            }
        ovt_fw_reserve(&fw_, 1);
        ovt_fw_reset(&fw_, core, now_);
        prepare();
        ended_.clear(); // fail() reports them
    }

    void trials() {
        std::uint32_t processor;
        while (ovt_coord_trial_due(&coord_, now_, &processor)) {
            ovt_coord_trial_ended(&coord_, processor, works_[processor], now_);
            for (Observer* observer : observers_)
                if (works_[processor])
                    observer->in_use_again(processor, now_);
        }
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
        for (std::size_t i = 0; i < sources_.size(); i++)
            while (sources_[i].next() == now_)
                generated_arrival(i);
    }

    void generated_arrival(std::size_t index) {
        const Generated& load = scenario_.loads[index];
        sources_[index].take();
        const std::uint64_t number = generated_++;
        if (load.arrivals.max_pending && pending_[index] >= *load.arrivals.max_pending) {
            tell([&](Observer& observer) { observer.refused(load, now_); });
            return;
        }
        pending_[index]++;
        arrive(load.kind, number, static_cast<std::uint32_t>(index));
    }

    void arrive(const TaskKind& kind, std::uint64_t number, std::uint32_t load) {
        if (free_.empty()) {
            pool_.emplace_back();
            free_.push_back(&pool_.back());
        }
        LiveTask& task = *free_.back();
        free_.pop_back();
        const std::size_t units = scenario_.models[kind.model].units.size();
        task.kind = &kind;
        task.number = number;
        task.load = load;
        task.runs.resize(units);
        task.host_runs.resize(units);
        if (scenario_.settings.policy->whole)
            task.links.resize(scenario_.processors.size());
        ovt_coord_task& coord = task.coord;
        coord.model = models_->at(kind.model);
        coord.priority = kind.priority;
        coord.custom_id = kind.custom_id;
        coord.on = kind.on;
        coord.on_class = kind.on_class;
        coord.deadline = kind.slo && *kind.slo < never - now_ ? now_ + *kind.slo : OVT_COORD_NEVER;
        coord.runs = task.runs.data();
        coord.links = task.links.data();
        if (load == LiveTask::not_a_load)
            listed_live_[number] = &task;
        tell([&](Observer& observer) { observer.arrived(task, now_); });
        ovt_coord_arrive(&coord_, &coord, now_);
    }

    void cancels() {
        for (;
             next_cancel_ < scenario_.cancels.size() && scenario_.cancels[next_cancel_].at == now_;
             next_cancel_++) {
            LiveTask* const task = listed_live_[scenario_.cancels[next_cancel_].listed];
            if (task == nullptr)
                continue;
            ovt_coord_cancel(&coord_, &task->coord);
            leave_nothing_to_do();
        }
    }

    void end_task(LiveTask& task) {
        tell([&](Observer& observer) { observer.ended(task, now_); });
        if (task.load == LiveTask::not_a_load) {
            listed_live_[task.number] = nullptr;
        } else {
            refuse_endless(task);
            pending_[task.load]--;
            sources_[task.load].task_ended(now_);
        }
        free_.push_back(&task);
    }

    /// Refuses a closed loop without think and count if a task ends in the instant of its arrival:
    /// the next task arrives at once, without end.
    void refuse_endless(const LiveTask& task) const {
        const Load& load = scenario_.loads[task.load].arrivals;
        if (task.coord.arrival_time == now_ && load.arrivals == Arrivals::closed_loop &&
            load.think == 0 && !load.count)
            throw Error(ERANGE, fmt::format("load {}: at {} a task is dropped when it arrives, and "
                                            "the next one arrives at once, without end: give it a "
                                            "think or a count",
                                            load.id, now_));
    }

    // The coordinator's actions.

    void carry_out(const ovt_coord_action& action) {
        LiveTask& task = task_of(action.task);
        switch (action.type) {
        case OVT_COORD_DISPATCH:
            dispatch(task, *action.run);
            break;
        case OVT_COORD_START:
            start(task, *action.run);
            break;
        case OVT_COORD_CANCEL:
            cancel_run(*static_cast<LiveTask::Run*>(action.run->host));
            break;
        case OVT_COORD_END:
            end_task(task);
            break;
        }
    }

    void leave_nothing_to_do() {
        ovt_coord_action action;
        while (ovt_coord_left_to_do(&coord_, &action))
            carry_out(action);
    }

    void act() {
        ovt_coord_action action;
        while (ovt_coord_next(&coord_, now_, &action))
            carry_out(action);
    }

    const ProcessorScenario& scenario_;
    std::vector<Observer*> observers_;
    std::vector<ovt_core> cores_;
    std::vector<ovt_fw_core> core_states_;
    std::vector<ovt_command> commands_;
    std::vector<ovt_event> events_;
    ovt_fw fw_{};
    ovt_fw_context context_{};
    std::vector<ovt_fc> program_; ///< FCs without code: they are charged here, not executed
    ovt_coord coord_{};
    std::vector<ovt_coord_processor> processors_;
    std::vector<std::uint32_t> processor_of_core_;
    std::optional<LiveModels> models_;
    std::vector<bool> works_;            ///< by processor
    std::vector<std::uint64_t> factors_; ///< percent, by processor
    std::uint64_t now_ = 0;
    std::deque<LiveTask> pool_;
    std::vector<LiveTask*> free_;
    std::vector<std::size_t> listed_order_; ///< by arrival
    std::size_t next_listed_ = 0;
    std::vector<LiveTask*> listed_live_; ///< by number
    std::size_t next_cancel_ = 0;
    std::size_t next_event_ = 0;
    std::vector<std::size_t> recovers_left_; ///< by processor
    std::vector<ArrivalSource> sources_;
    std::vector<std::uint32_t> pending_; ///< by load: tasks that have arrived and not ended
    std::uint64_t generated_ = 0;
    std::vector<LiveTask::Run*> on_workers_;
    std::vector<LiveTask::Run*> ended_; ///< ended now and not reported yet
};

ProcessorSimulator::ProcessorSimulator(const ProcessorScenario& scenario, std::uint64_t seed,
                                       std::span<Observer* const> observers)
    : simulation_(std::make_unique<Simulation>(scenario, seed, observers)) {}

ProcessorSimulator::~ProcessorSimulator() = default;

void ProcessorSimulator::run() {
    simulation_->run();
}

std::uint64_t ProcessorSimulator::steps() const {
    return simulation_->steps();
}

} // namespace overtake::simulator::processors
