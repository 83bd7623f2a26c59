// SPDX-License-Identifier: MIT
#include "drive_processors.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordination/coordinator.hpp"
#include "coordination/device_runner.hpp"
#include "embedded/core_faults.hpp"
#include "overtake/error.hpp"
#include "scenario_models.hpp"
#include "simulator/processors/scenario.hpp"

namespace overtake::test {

using nlohmann::json;
namespace processors = simulator::processors;
using coordination::CoordinatedModel;
using coordination::CoordinatedTask;
using coordination::UnitRun;

namespace {

/// The memory of one task's inference; its values do not matter.
struct TaskMemory {
    std::vector<float> in = std::vector<float>(4 * 5 * 3);
    std::vector<float> out = std::vector<float>(4 * 5 * 3);
    std::shared_ptr<coordination::UnitInference> inference;
};

class Driver final : public coordination::RunnerHost {
public:
    Driver(const processors::ProcessorScenario& scenario, std::uint64_t horizon)
        : scenario_(scenario), horizon_(horizon), works_(scenario.processors.size(), true),
          factors_(scenario.processors.size(), 100) {
        open_device();
        make_coordinator();
        make_models();
        make_tasks();
    }

    void run() {
        for (now_ = 0; now_ <= horizon_; now_++) {
            if (faulty_.device)
                faulty_.device->manual_clock()->advance_to(origin_ + now_);
            step_devices();
            end_on_pools();
            report_ends();
            events();
            trials();
            arrivals();
            cancels();
            act();
        }
    }

    json timeline() const {
        json runs = json::array();
        json tasks = json::array();
        for (std::size_t i = 0; i < tasks_.size(); i++) {
            const CoordinatedTask& task = *tasks_[i];
            std::vector<RunRecord> records = task.run_records();
            std::ranges::sort(records, {}, &RunRecord::number);
            for (const RunRecord& run : records)
                runs.push_back(to_json(scenario_.listed[i].id, run));
            tasks.push_back(to_json(i, task));
        }
        return {{"runs", runs}, {"tasks", tasks}};
    }

private:
    /// Runs of pools: a worker has a run for the run's time in the scenario.
    class Pools final : public coordination::Runner {
    public:
        explicit Pools(Driver& driver) : driver_(driver) {}
        void start(UnitRun& run) noexcept override { driver_.start_on_pool(run); }
        void note_cancel() noexcept override {}
        void stop(std::uint32_t processor) noexcept override { driver_.stop_pool(processor); }
        void begin_trial(std::uint32_t processor) noexcept override { driver_.trial(processor); }

    private:
        Driver& driver_;
    };
    /// Cores, whose trials take no time in a scenario.
    class Cores final : public coordination::Runner {
    public:
        Cores(Driver& driver, coordination::DeviceRunner& runner)
            : driver_(driver), runner_(runner) {}
        void start(UnitRun& run) noexcept override { runner_.start(run); }
        void note_cancel() noexcept override { runner_.note_cancel(); }
        void stop(std::uint32_t processor) noexcept override { runner_.stop(processor); }
        void begin_trial(std::uint32_t processor) noexcept override {
            driver_.trial(processor);
            if (driver_.works_[processor])
                runner_.take_again(processor);
        }

    private:
        Driver& driver_;
        coordination::DeviceRunner& runner_;
    };

    void open_device() {
        if (scenario_.cores == 0) {
            home_ = open_embedded({});
            return;
        }
        EmbeddedOptions options;
        options.cores = scenario_.cores;
        options.mode = OVERTAKE_MODE_TIMED;
        options.profile = "ideal";
        options.manual_clock = true;
        options.queue_timeout_ns = std::uint64_t{1} << 50;
        options.watchdog_cycles = std::uint64_t{1} << 50;
        for (const processors::Processor& processor : scenario_.processors)
            if (processor.core != 0)
                options.core_limits.push_back(static_cast<unsigned>(
                    std::min<std::uint64_t>(processor.described.core_limit, UINT32_MAX)));
        faulty_ = open_faulty(options);
        home_ = faulty_.device;
        origin_ = home_->manual_clock()->now_ns();
    }

    void make_coordinator() {
        coordination::CoordinatorSetup setup;
        std::vector<coordination::DeviceRunner::Core> cores;
        classes_.resize(scenario_.class_names.size());
        for (std::uint32_t q = 0; q < scenario_.processors.size(); q++) {
            const processors::Processor& processor = scenario_.processors[q];
            classes_[processor.described.class_index] = processor.described;
            if (processor.core != 0)
                cores.push_back({q, processor.core});
        }
        if (!cores.empty()) {
            QueueOptions rights;
            rights.max_priority = priority_high;
            device_runner_ = std::make_unique<coordination::DeviceRunner>(
                home_, coordination::home_domain, rights, cores, *this, true);
            cores_runner_ = std::make_unique<Cores>(*this, *device_runner_);
        }
        for (const processors::Processor& processor : scenario_.processors) {
            coordination::Runner* const runner =
                processor.core != 0 ? static_cast<coordination::Runner*>(cores_runner_.get())
                                    : &pools_;
            setup.processors.push_back({processor.name, processor.name, processor.core,
                                        coordination::home_domain, runner});
            setup.described.push_back(processor.described);
            names_->push_back(processor.name);
        }
        for (std::size_t c = 0; c < classes_.size(); c++)
            setup.classes.push_back(
                {scenario_.class_names[c], classes_[c].workers == 0 ? "ideal" : "", nullptr});
        setup.entries = static_cast<std::uint32_t>(scenario_.entries.size());
        setup.rates = scenario_.rates;
        setup.settings = scenario_.settings;
        coordinator_ = std::make_unique<coordination::Coordinator>(std::move(setup));
    }

    void make_models() {
        for (const processors::Model& model : scenario_.models) {
            models_.push_back(std::make_shared<CoordinatedModel>(
                waiting_model(model, classes_, scenario_.class_names, 1),
                coordination::Domains{{home_}}, coordinator_->setup().classes));
            coordinator_->add_model(*models_.back());
        }
    }

    void make_tasks() {
        for (const processors::Listed& listed : scenario_.listed) {
            auto memory = std::make_shared<TaskMemory>();
            TensorMemory in, out;
            in.data = reinterpret_cast<std::byte*>(memory->in.data());
            out.data = reinterpret_cast<std::byte*>(memory->out.data());
            memory->inference = models_[listed.kind.model]->make_inference({&in, 1}, {&out, 1});
            const engine::TaskSegment whole{nullptr, 0, 0, nullptr, memory->inference.get()};
            engine::RunOptions options;
            options.priority = listed.kind.priority;
            options.custom_id = listed.kind.custom_id;
            if (listed.kind.slo)
                options.deadline_ns = origin_ + listed.at + *listed.kind.slo;
            auto task = std::make_shared<CoordinatedTask>(std::span(&whole, 1), options, memory,
                                                          scenario_.processors.size(),
                                                          scenario_.settings.policy->whole);
            task->set_on(listed.kind.on, listed.kind.on_class);
            task->set_processor_names(names_);
            tasks_.push_back(std::move(task));
        }
        ends_.resize(tasks_.size(), UINT64_MAX);
        statuses_.resize(tasks_.size());
        order_.resize(tasks_.size());
        for (std::size_t i = 0; i < order_.size(); i++)
            order_[i] = i;
        std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return scenario_.listed[i].at; });
    }

    std::uint64_t device_now() const { return origin_ + now_; }

    // Runners report.

    void run_ended(UnitRun& run) noexcept override { ended_.push_back(&run); }
    void processor_failed(std::uint32_t) noexcept override {} // the scenario has the failures
    void trial_ended(std::uint32_t, bool) noexcept override {}

    void trial(std::uint32_t processor) noexcept {
        trials_.push_back({processor, works_[processor]});
    }

    void step_devices() {
        if (!device_runner_)
            return;
        device_runner_->step();
        home_->manual_clock()->advance_to(device_now());
        device_runner_->step();
    }

    void start_on_pool(UnitRun& run) noexcept {
        const std::uint32_t processor = run.described->processor;
        const processors::Model& model = scenario_.models[model_of(run)];
        std::uint64_t time = 0;
        for (std::uint64_t rest = run.described->units; rest != 0; rest &= rest - 1) {
            const auto& of_unit = model.fcs[static_cast<std::size_t>(std::countr_zero(rest))];
            time += (of_unit[scenario_.processors[processor].described.class_index][0] *
                         factors_[processor] +
                     99) /
                    100;
        }
        run.has_started = true;
        run.start_ns = device_now();
        on_workers_.push_back({&run, now_ + time});
    }

    std::size_t model_of(const UnitRun& run) const {
        const CoordinatedModel* model = &run.task->inference()->model();
        return static_cast<std::size_t>(
            std::ranges::find(models_, model, &std::shared_ptr<CoordinatedModel>::get) -
            models_.begin());
    }

    void end_on_pools() {
        std::erase_if(on_workers_, [&](const auto& on_worker) {
            if (on_worker.second != now_)
                return false;
            end_on_pool(*on_worker.first, coordination::RunOutcome::done);
            return true;
        });
    }

    void end_on_pool(UnitRun& run, coordination::RunOutcome outcome) {
        run.outcome = outcome;
        run.end_ns = device_now();
        run.executed_ns = run.end_ns - run.start_ns;
        ended_.push_back(&run);
    }

    void stop_pool(std::uint32_t processor) noexcept {
        std::erase_if(on_workers_, [&](const auto& on_worker) {
            if (on_worker.first->described->processor != processor)
                return false;
            end_on_pool(*on_worker.first, coordination::RunOutcome::failed);
            return true;
        });
    }

    // An instant.

    void report_ends() {
        while (!ended_.empty()) {
            std::vector<UnitRun*> ended;
            ended.swap(ended_);
            std::ranges::sort(ended, {},
                              [](const UnitRun* run) { return run->described->dispatch_sequence; });
            for (UnitRun* run : ended)
                coordinator_->run_ended(*run, device_now());
            settle();
        }
    }

    /// Makes cancels that runners have received take effect now.
    void settle() {
        step_devices();
        take_tasks();
    }

    void take_tasks() {
        for (auto ended = coordinator_->take_ended(); !ended.empty();) {
            const std::shared_ptr<CoordinatedTask> task = ended.pop();
            const std::size_t i =
                static_cast<std::size_t>(std::ranges::find(tasks_, task) - tasks_.begin());
            ends_[i] = now_;
            statuses_[i] = task->failure();
        }
    }

    void events() {
        for (; next_event_ < scenario_.events.size() && scenario_.events[next_event_].at == now_;
             next_event_++) {
            const processors::ProcessorEvent& event = scenario_.events[next_event_];
            const unsigned core = scenario_.processors[event.processor].core;
            switch (event.type) {
            case processors::EventType::throttle:
                factors_[event.processor] = event.factor;
                if (core != 0)
                    faulty_.faults->throttle(core, static_cast<unsigned>(event.factor));
                break;
            case processors::EventType::recover:
                works_[event.processor] = true;
                if (core != 0)
                    faulty_.faults->recover(core);
                break;
            case processors::EventType::fail:
                works_[event.processor] = false;
                coordinator_->processor_failed(event.processor, device_now());
                if (core != 0) {
                    step_devices(); // FCs that have not started leave
                    faulty_.faults->fail(core);
                }
                settle();
                report_ends();
                break;
            }
        }
    }

    void trials() {
        do {
            trials_.clear();
            coordinator_->begin_trials(device_now());
            for (const auto& [processor, works] : trials_)
                coordinator_->trial_ended(processor, works, device_now());
        } while (!trials_.empty());
    }

    void arrivals() {
        for (; next_ < order_.size() && scenario_.listed[order_[next_]].at == now_; next_++)
            coordinator_->arrive(*tasks_[order_[next_]], device_now());
    }

    void cancels() {
        for (;
             next_cancel_ < scenario_.cancels.size() && scenario_.cancels[next_cancel_].at == now_;
             next_cancel_++) {
            CoordinatedTask& task = *tasks_[scenario_.cancels[next_cancel_].listed];
            coordinator_->cancel_now(task, device_now());
            settle();
            report_ends();
        }
    }

    void act() {
        do {
            coordinator_->act(device_now());
            settle();
            report_ends();
        } while (coordinator_->state().look_wanted);
    }

    // What happened.

    json since_origin(std::uint64_t time) const {
        return time == 0 ? json() : json(time - origin_);
    }

    json to_json(const std::string& task, const RunRecord& run) const {
        json units = json::array();
        for (std::uint64_t rest = run.units; rest != 0; rest &= rest - 1)
            units.push_back(std::countr_zero(rest));
        return {{"task", task},
                {"run", run.number},
                {"units", units},
                {"processor", run.processor},
                {"dispatched", since_origin(run.dispatched_ns)},
                {"start", since_origin(run.start_ns)},
                {"end", since_origin(run.end_ns)},
                {"status", run.status == 0      ? "done"
                           : run.status == -EIO ? "failed"
                                                : "cancelled"}};
    }

    json to_json(std::size_t i, const CoordinatedTask& task) const {
        const bool is_over = ends_[i] != UINT64_MAX;
        json status;
        if (is_over)
            status = statuses_[i] == 0            ? "done"
                     : statuses_[i] == -ECANCELED ? "cancelled"
                     : statuses_[i] == -ETIME     ? "dropped"
                                                  : "failed";
        return {{"id", scenario_.listed[i].id},
                {"arrival", scenario_.listed[i].at},
                {"dispatched", since_origin(task.dispatched_ns())},
                {"end", is_over ? json(ends_[i]) : json()},
                {"status", status},
                {"retries", task.retries()}};
    }

    const processors::ProcessorScenario& scenario_;
    const std::uint64_t horizon_;
    std::vector<bool> works_;
    std::vector<std::uint64_t> factors_;
    FaultyDevice faulty_;
    std::shared_ptr<Device> home_;
    std::uint64_t origin_ = 1; // in a record, 0 means that the time never came
    std::uint64_t now_ = 0;
    Pools pools_{*this};
    std::unique_ptr<coordination::DeviceRunner> device_runner_;
    std::unique_ptr<Cores> cores_runner_;
    const std::shared_ptr<std::vector<std::string>> names_ =
        std::make_shared<std::vector<std::string>>();
    std::vector<ovt_coord_processor> classes_; ///< one of each
    std::unique_ptr<coordination::Coordinator> coordinator_;
    std::vector<std::shared_ptr<CoordinatedModel>> models_;
    std::vector<std::shared_ptr<CoordinatedTask>> tasks_;
    std::vector<std::uint64_t> ends_;
    std::vector<std::int32_t> statuses_;
    std::vector<std::size_t> order_;
    std::size_t next_ = 0, next_event_ = 0, next_cancel_ = 0;
    std::vector<UnitRun*> ended_;
    std::vector<std::pair<UnitRun*, std::uint64_t>> on_workers_;
    std::vector<std::pair<std::uint32_t, bool>> trials_;
};

} // namespace

json without_leads(json scenario) {
    scenario.erase("rates");
    for (json& processor : scenario["processors"])
        processor.erase("overhead");
    for (auto& [name, model] : scenario["models"].items())
        model.erase("measured");
    return scenario;
}

json drive_processors(const json& scenario, std::uint64_t horizon) {
    const processors::ProcessorScenario parsed = processors::parse_processor_scenario(scenario, {});
    Driver driver(parsed, horizon);
    driver.run();
    return driver.timeline();
}

} // namespace overtake::test
