// SPDX-License-Identifier: MIT
#include "coordination/coordinated_engine.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "coordination/device_runner.hpp"
#include "coordination/own_runner.hpp"
#include "coordination/pool_runner.hpp"
#include "coordination/probes.hpp"
#include "coordination/setup.hpp"
#include "monotonic_clock.hpp"

namespace overtake::coordination {

namespace {

bool is_before(const UnitRun& a, const UnitRun& b) {
    return a.described->dispatch_sequence < b.described->dispatch_sequence;
}

UnitRun* merged(UnitRun* a, UnitRun* b) {
    UnitRun* first = nullptr;
    UnitRun** last = &first;
    while (a && b) {
        UnitRun*& earlier = is_before(*a, *b) ? a : b;
        *last = earlier;
        last = &earlier->ended_behind;
        earlier = *last;
    }
    *last = a ? a : b;
    return first;
}

/// Sorts a list that is linked by ended_behind, without allocating: a great many runs may end at
/// once.
UnitRun* sorted_by_dispatch(UnitRun* first) {
    constexpr std::size_t most_doublings = 64;
    std::array<UnitRun*, most_doublings> sorted{}; // lists of 1, 2, 4, ... runs
    while (first) {
        UnitRun* run = std::exchange(first, first->ended_behind);
        run->ended_behind = nullptr;
        std::size_t i = 0;
        for (; sorted[i]; i++)
            run = merged(std::exchange(sorted[i], nullptr), run);
        sorted[i] = run;
    }
    UnitRun* all = nullptr;
    for (UnitRun* part : sorted)
        all = merged(part, all);
    return all;
}

} // namespace

CoordinatedEngine::CoordinatedEngine(std::shared_ptr<Device> device, const EngineOptions& options)
    : max_priority_(options.max_priority),
      cpu_(checked_cpu_options(options.cpu_layout, options.cpu_threads)) {
    if (options.service)
        throw Error(EINVAL, "engine: service mode has one queue of one device; several processors "
                            "are one engine's");
    EngineSetup setup = make_setup(device, options);
    RunnerHost& host = *this;
    domains_ = setup.domains;
    for (unsigned domain = 0; domain < domains_.size(); domain++) {
        if (!setup.has_cores[domain])
            continue;
        std::vector<DeviceRunner::Core> cores;
        std::vector<CoordinatedProcessor*> of_device;
        for (std::uint32_t q = 0; q < setup.coordinator.processors.size(); q++) {
            CoordinatedProcessor& processor = setup.coordinator.processors[q];
            if (processor.core == 0 || processor.domain != domain)
                continue;
            cores.push_back({q, processor.core});
            of_device.push_back(&processor);
        }
        const QueueOptions rights{.max_priority = options.max_priority,
                                  .core_limit = options.core_limit};
        runners_.push_back(std::make_unique<DeviceRunner>(domains_[domain].device, domain, rights,
                                                          std::move(cores), host, false,
                                                          options.record));
        for (CoordinatedProcessor* processor : of_device)
            processor->runner = runners_.back().get();
    }
    for (std::size_t q = 0; q < setup.coordinator.processors.size(); q++) {
        if (setup.coordinator.processors[q].core != 0)
            continue;
        const ProcessorClass& of =
            setup.coordinator.classes[setup.coordinator.described[q].class_index];
        if (of.own)
            runners_.push_back(std::make_unique<OwnRunner>(of.own, static_cast<std::uint32_t>(q),
                                                           setup.coordinator.processors[q].domain,
                                                           host));
        else
            runners_.push_back(std::make_unique<PoolRunner>(setup.coordinator.described[q].workers,
                                                            options.worker_cpus, host));
        setup.coordinator.processors[q].runner = runners_.back().get();
    }
    auto names = std::make_shared<std::vector<std::string>>();
    for (const CoordinatedProcessor& processor : setup.coordinator.processors)
        names->push_back(processor.name);
    names_ = std::move(names);
    coordinator_ = std::make_unique<Coordinator>(std::move(setup.coordinator));
    side_threads_ = std::make_unique<WorkThreads>(options.workers, options.worker_cpus);
    end_thread_ = std::make_unique<WorkThreads>(1, options.worker_cpus);
    thread_ = engine::start_thread([this] { this->run(); });
}

CoordinatedEngine::~CoordinatedEngine() {
    stop();
}

void CoordinatedEngine::stop() {
    if (std::exchange(is_stopped_, true))
        return;
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    news_.notify_one();
    thread_.join();
    side_threads_.reset();
    end_thread_.reset();
    runners_.clear();
    callbacks_.stop();
}

std::shared_ptr<CoordinatedModel> CoordinatedEngine::load(const std::shared_ptr<const Model>& model,
                                                          const TimesFile* times) {
    if (times)
        coordinator_->check(*model, *times);
    const std::lock_guard lock(models_mutex_);
    std::erase_if(models_, [](const auto& known) { return known.second.expired(); });
    std::weak_ptr<CoordinatedModel>& known = models_[model.get()];
    std::shared_ptr<CoordinatedModel> loaded = known.lock();
    if (loaded && times)
        throw Error(EBUSY, fmt::format("{}: the engine has the model '{}' already, without these "
                                       "times; load it with them first",
                                       times->name, model->name()));
    if (!loaded) {
        loaded = std::make_shared<CoordinatedModel>(model, domains_, coordinator_->setup().classes,
                                                    cpu_);
        if (times)
            coordinator_->add_model(*loaded, *times);
        else
            coordinator_->add_model(*loaded);
        known = loaded;
    }
    return loaded;
}

void CoordinatedEngine::begin_records(CoordinatedModel& model, const TimesFile* times) {
    const std::lock_guard lock(state_mutex_);
    if (times)
        coordinator_->add_model(model, *times);
    else
        coordinator_->add_model(model);
}

std::vector<ProcessorState> CoordinatedEngine::states() const {
    const std::lock_guard lock(state_mutex_);
    return coordinator_->states(monotonic_ns());
}

// Tasks, from any thread

void CoordinatedEngine::check(const engine::RunOptions& options) const {
    if (options.priority > max_priority_)
        throw Error(EPERM, fmt::format("task: priority {}, but the engine was made for at most {}",
                                       options.priority, max_priority_));
    std::uint64_t on;
    std::uint32_t on_class;
    resolve(options, on, on_class);
}

void CoordinatedEngine::check(const UnitInference& inference,
                              const engine::RunOptions& options) const {
    std::uint64_t on;
    std::uint32_t on_class;
    resolve(options, on, on_class);
    coordinator_->check(inference, options, on, on_class);
}

std::optional<std::size_t>
CoordinatedEngine::unit_without_processor(const UnitInference& inference,
                                          const engine::RunOptions& options) const {
    std::uint64_t on;
    std::uint32_t on_class;
    resolve(options, on, on_class);
    return coordinator_->unit_without_processor(inference, on, on_class);
}

/// Finds the processors and the class that a task's `on`, or the core that it names, stands for.
void CoordinatedEngine::resolve(const engine::RunOptions& options, std::uint64_t& on,
                                std::uint32_t& on_class) const {
    on = 0;
    on_class = 0;
    const bool names_core = options.core != core_any;
    if (options.on.empty() && !names_core) {
        if (std::string_view(coordinator_->setup().settings.policy->name) == "fixed")
            throw Error(EINVAL, "task: the policy fixed needs the processor or the entry that it "
                                "is to run on (TaskOptions::on, or the number of a core)");
        return;
    }
    for (std::uint32_t q = 0; q < processors().size(); q++) {
        const CoordinatedProcessor& processor = processors()[q];
        const bool is_named =
            options.on.empty() ? processor.core == options.core && processor.domain == home_domain
                               : processor.name == options.on || processor.entry_name == options.on;
        if (!is_named)
            continue;
        on |= std::uint64_t{1} << q;
        on_class = coordinator_->setup().described[q].class_index;
    }
    if (on != 0)
        return;
    std::string names;
    for (const CoordinatedProcessor& processor : processors())
        names += (names.empty() ? "" : ", ") + processor.name;
    throw Error(EINVAL, options.on.empty()
                            ? fmt::format("task: core {} is none of the engine's processors ({})",
                                          options.core, names)
                            : fmt::format("task: there is no processor '{}'; the engine has {}",
                                          options.on, names));
}

std::shared_ptr<engine::SubmittedTask>
CoordinatedEngine::make_task(std::span<const engine::TaskSegment> segments,
                             const engine::RunOptions& options, std::shared_ptr<void> memory) {
    auto task =
        std::make_shared<CoordinatedTask>(segments, options, std::move(memory), processors().size(),
                                          coordinator_->setup().settings.policy->whole);
    std::uint64_t on;
    std::uint32_t on_class;
    resolve(options, on, on_class);
    task->set_on(on, on_class);
    task->set_processor_names(names_);
    task->side_host_ = this;
    for (const engine::TaskSegment& stage : task->stages())
        if (stage.whole)
            coordinator_->check(*stage.whole, options, on, on_class);
    return task;
}

void CoordinatedEngine::submit_task(std::shared_ptr<engine::SubmittedTask> submitted) {
    auto task = std::static_pointer_cast<CoordinatedTask>(std::move(submitted));
    task->arrival_ns_ = monotonic_ns();
    bool is_taken = false;
    post([&](Messages& messages) {
        is_taken = !is_gone_;
        if (is_taken)
            messages.arrivals.push(task);
    });
    if (is_taken)
        return;
    task->finish(-ECANCELED, monotonic_ns());
    callbacks_.hand_over(std::move(task));
}

void CoordinatedEngine::cancel_task(std::shared_ptr<engine::SubmittedTask> submitted) {
    auto task = std::static_pointer_cast<CoordinatedTask>(std::move(submitted));
    post([&](Messages& messages) {
        if (!is_gone_ && !std::exchange(task->is_cancel_posted_, true))
            messages.cancels.push(std::move(task));
    });
}

// Messages

template <class Write>
void CoordinatedEngine::post(Write write) noexcept {
    {
        const std::lock_guard lock(mutex_);
        write(messages_);
    }
    news_.notify_one();
}

void CoordinatedEngine::run_ended(UnitRun& run) noexcept {
    run.ended_behind = nullptr;
    post([&](Messages& messages) {
        (messages.last_ended ? messages.last_ended->ended_behind : messages.first_ended) = &run;
        messages.last_ended = &run;
    });
}

void CoordinatedEngine::processor_failed(std::uint32_t processor) noexcept {
    post([&](Messages& messages) { messages.failed |= std::uint64_t{1} << processor; });
}

void CoordinatedEngine::trial_ended(std::uint32_t processor, bool works) noexcept {
    post([&](Messages& messages) {
        (works ? messages.trials_good : messages.trials_bad) |= std::uint64_t{1} << processor;
    });
}

void CoordinatedEngine::processor_gone(std::uint32_t processor) noexcept {
    post([&](Messages& messages) { messages.gone |= std::uint64_t{1} << processor; });
}

void CoordinatedEngine::task_ended(std::shared_ptr<CoordinatedTask> task) noexcept {
    callbacks_.hand_over(std::move(task));
}

void CoordinatedEngine::side_work_ended(std::shared_ptr<CoordinatedTask> task) noexcept {
    post([&](Messages& messages) { messages.side_ends.push(std::move(task)); });
}

// The engine's thread

CoordinatedEngine::Messages CoordinatedEngine::wait(bool& is_stopping) {
    const std::uint64_t deadline = coordinator_->next_time();
    std::unique_lock lock(mutex_);
    while (messages_.is_empty() && is_stopping_ == is_stopping && monotonic_ns() < deadline)
        wait_until(news_, lock, deadline);
    is_stopping = is_stopping_;
    return std::exchange(messages_, {});
}

void CoordinatedEngine::run() {
    bool is_stopping = false;
    do {
        const bool was_stopping = is_stopping;
        Messages messages = wait(is_stopping);
        const std::lock_guard lock(state_mutex_);
        const std::uint64_t now = monotonic_ns();
        refuses_arrivals_ = is_stopping;
        run_instant(messages, now);
        if (is_stopping && !was_stopping) {
            cancel_all(now);
            do
                coordinator_->act(now);
            while (end_stages(now));
        }
    } while (!is_stopping || live_ != 0);
    Messages messages;
    {
        const std::lock_guard lock(mutex_);
        is_gone_ = true;
        messages = std::exchange(messages_, {});
    }
    while (!messages.arrivals.empty()) {
        const std::shared_ptr<CoordinatedTask> task = messages.arrivals.pop();
        task->finish(-ECANCELED, monotonic_ns());
        callbacks_.hand_over(task);
    }
}

/// Handles one instant in the order of the contract: ends, failures, trials, arrivals, cancels,
/// looks.
void CoordinatedEngine::run_instant(Messages& messages, std::uint64_t now) {
    handle_ends(messages.first_ended, now);
    handle_failures(messages, now);
    coordinator_->fail_overdue(now);
    coordinator_->begin_trials(now);
    while (!messages.side_ends.empty())
        side_work_ended_here(*messages.side_ends.pop(), now);
    end_stages(now);
    while (!messages.arrivals.empty())
        arrive(messages.arrivals.pop(), now);
    while (!messages.cancels.empty())
        cancel(*messages.cancels.pop(), now);
    do
        coordinator_->act(now);
    while (end_stages(now)); // a next stage may have begun
    coordinator_->tell_all(now);
}

/// Handles the ends of runs in the order of the runs' dispatch.
void CoordinatedEngine::handle_ends(UnitRun* first, std::uint64_t now) {
    for (UnitRun* run = sorted_by_dispatch(first); run;) {
        UnitRun* const behind = run->ended_behind;
        coordinator_->run_ended(*run, now);
        run = behind;
    }
}

void CoordinatedEngine::handle_failures(const Messages& messages, std::uint64_t now) {
    for (std::uint64_t rest = messages.failed; rest != 0; rest &= rest - 1)
        coordinator_->processor_failed(static_cast<std::uint32_t>(std::countr_zero(rest)), now);
    for (std::uint64_t rest = messages.trials_bad; rest != 0; rest &= rest - 1)
        coordinator_->trial_ended(static_cast<std::uint32_t>(std::countr_zero(rest)), false, now);
    for (std::uint64_t rest = messages.trials_good; rest != 0; rest &= rest - 1)
        coordinator_->trial_ended(static_cast<std::uint32_t>(std::countr_zero(rest)), true, now);
    end_lost_tasks(messages.gone);
}

/// Cancels the tasks that no processor can bring to their end any more.
void CoordinatedEngine::end_lost_tasks(std::uint64_t gone) {
    if (gone == 0)
        return;
    for (std::uint64_t rest = gone; rest != 0; rest &= rest - 1)
        coordinator_->processor_gone(static_cast<std::uint32_t>(std::countr_zero(rest)));
    for (CoordinatedTask* task = first_live_; task; task = task->live_behind_) {
        const auto unit = task->is_in_coordinator_ ? coordinator_->lost_unit(*task) : std::nullopt;
        if (!unit)
            continue;
        task->lose_processors(*unit);
        coordinator_->cancel(*task);
    }
}

void CoordinatedEngine::arrive(std::shared_ptr<CoordinatedTask> arriving, std::uint64_t now) {
    CoordinatedTask& task = *arriving;
    task.live_before_ = nullptr;
    task.live_behind_ = first_live_;
    if (first_live_)
        first_live_->live_before_ = &task;
    first_live_ = &task;
    live_++;
    task.live_self_ = std::move(arriving);
    probe::request_arrive(task, now, coordinator_.get());
    if (task.is_cancelled_ || refuses_arrivals_) {
        task.failure_ = -ECANCELED;
        end(task, now);
        return;
    }
    begin_stage(task, now);
}

void CoordinatedEngine::cancel(CoordinatedTask& task, std::uint64_t /*now*/) {
    task.is_cancelled_ = true; // side work of the task comes to its end first
    coordinator_->cancel(task);
}

void CoordinatedEngine::cancel_all(std::uint64_t now) {
    for (CoordinatedTask* task = first_live_; task; task = task->live_behind_)
        cancel(*task, now);
}

void CoordinatedEngine::begin_stage(CoordinatedTask& task, std::uint64_t now) {
    const UnitInference* const inference = task.inference();
    if (!inference)
        begin_side_work(task, CoordinatedTask::Side::compute, now);
    else if (inference->home().fills())
        begin_side_work(task, CoordinatedTask::Side::fill, now);
    else
        begin_runs(task, now);
}

void CoordinatedEngine::begin_runs(CoordinatedTask& task, std::uint64_t now) {
    if (const auto unit = coordinator_->lost_unit(task)) {
        task.lose_processors(*unit);
        end(task, now);
        return;
    }
    coordinator_->arrive(task, now);
}

void CoordinatedEngine::begin_side_work(CoordinatedTask& task, CoordinatedTask::Side side,
                                        std::uint64_t now) {
    if (task.dispatched_ns_ == 0 && side == CoordinatedTask::Side::compute)
        task.dispatched_ns_ = monotonic_ns();
    task.side_ = side;
    probe::request_work(task, now, coordinator_.get());
    side_threads_->add(task.side_work_, task.options_.priority == priority_high);
}

void CoordinatedEngine::side_work_ended_here(CoordinatedTask& task, std::uint64_t now) {
    const auto side = std::exchange(task.side_, CoordinatedTask::Side::none);
    probe::request_worked(task, now, coordinator_.get());
    if (task.side_status_ != 0)
        task.failure_ = task.side_status_;
    else if (task.is_cancelled_)
        task.failure_ = -ECANCELED;
    if (task.failure_ != 0)
        end(task, now);
    else if (side == CoordinatedTask::Side::fill)
        begin_runs(task, now);
    else
        next_stage(task, now);
}

bool CoordinatedEngine::end_stages(std::uint64_t now) {
    bool is_any = false;
    for (auto ended = coordinator_->take_ended(); !ended.empty();
         ended = coordinator_->take_ended())
        while (!ended.empty()) {
            const std::shared_ptr<CoordinatedTask> task = ended.pop();
            is_any = true;
            if (task->failure_ != 0)
                end(*task, now);
            else if (task->inference()->needs_drain())
                begin_side_work(*task, CoordinatedTask::Side::drain, now);
            else
                next_stage(*task, now);
        }
    return is_any;
}

void CoordinatedEngine::next_stage(CoordinatedTask& task, std::uint64_t now) {
    if (task.stage_ + 1 == task.stages_.size()) {
        end(task, now);
        return;
    }
    task.stage_++;
    begin_stage(task, now);
}

void CoordinatedEngine::end(CoordinatedTask& task, std::uint64_t now) {
    if (task.live_behind_)
        task.live_behind_->live_before_ = task.live_before_;
    (task.live_before_ ? task.live_before_->live_behind_ : first_live_) = task.live_behind_;
    live_--;
    task.end_ns_ = now;
    probe::request_end(task, now, coordinator_.get(), task.failure_, task.retries());
    task.ending_self_ = std::move(task.live_self_);
    end_thread_->add(task.end_work_, task.options_.priority == priority_high);
}

} // namespace overtake::coordination
