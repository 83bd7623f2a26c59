// SPDX-License-Identifier: MIT
//
// A scenario with several processors through an engine, under the real clock:
//
//     bench_real_processors SCENARIO.json
//
// Cores are those of one embedded device in mode timed, whose FCs take the scenario's time; a pool
// is a processor of the program's own, with one worker, which waits for a unit's time.  The tasks
// of loads arrive as they do in `overtake sim`, with the same seed.  Prints "tasks" as that command
// does: times are microseconds from the beginning, an end is when the engine saw it.
//
// All threads have a real-time priority, if this process may have one ("real_time"): without it
// other processes of a busy machine keep them waiting for tens of milliseconds.
//
// A device executes no lead, so there are no rates and no overheads here; nor listed tasks, nor
// cancels.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <sched.h>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "embedded/core_faults.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"
#include "scenario_models.hpp"
#include "simulator/arrivals.hpp"
#include "simulator/processors/scenario.hpp"
#include "waiting_processor.hpp"

namespace overtake::benchmarks {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
namespace processors = simulator::processors;

constexpr std::uint64_t tick_ns = 1000;
constexpr std::size_t elements = 4 * 5 * 3; // of a waiting_model()
constexpr std::uint64_t patience_us = 20'000'000;
/// As the simulator seeds its loads.
constexpr std::uint64_t seed_step = 0x9e3779b97f4a7c15;

struct Task {
    std::size_t load;
    std::uint64_t number;
    std::uint64_t arrival;
    std::uint64_t submitted;
    std::shared_ptr<Request> request;
    std::array<float, elements> in{}, out{};
};

class Run {
public:
    explicit Run(const processors::ProcessorScenario& scenario)
        : scenario_(scenario), processors_of_classes_(scenario.class_names.size()) {
        if (!scenario.listed.empty() || !scenario.cancels.empty())
            throw Error(EINVAL, "listed tasks and cancels: loads alone");
        open();
        load();
        for (std::size_t i = 0; i < scenario.loads.size(); i++)
            sources_.emplace_back(scenario.loads[i].arrivals, scenario.seed * seed_step + i);
        numbers_.resize(scenario.loads.size());
    }

    json take() {
        begin_ns_ = now_ns();
        std::unique_lock lock(mutex_);
        std::uint64_t last_us = 0;
        for (;;) {
            std::deque<std::shared_ptr<Task>> ended;
            ended.swap(ended_);
            lock.unlock();
            for (const std::shared_ptr<Task>& task : ended)
                note_end(*task);
            const std::uint64_t now = now_us();
            events(now);
            arrivals(now);
            lock.lock();
            const std::uint64_t next = next_us();
            if (next != simulator::ArrivalSource::never)
                last_us = now;
            else if (in_flight_ == 0 || now > last_us + patience_us)
                return json{{"processors", states()}, {"runs", runs_}, {"tasks", tasks_}};
            const std::uint64_t until = std::min(next, now + 1'000'000);
            news_.wait_until(lock, time_of(until), [&] { return !ended_.empty(); });
        }
    }

private:
    static std::uint64_t now_ns() {
        return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                              std::chrono::steady_clock::now().time_since_epoch())
                                              .count());
    }
    std::uint64_t now_us() const { return (now_ns() - begin_ns_) / tick_ns; }
    std::chrono::steady_clock::time_point time_of(std::uint64_t us) const {
        return std::chrono::steady_clock::time_point(
            std::chrono::nanoseconds(begin_ns_ + us * tick_ns));
    }

    void open() {
        EmbeddedOptions device;
        device.cores = scenario_.cores;
        device.mode = OVERTAKE_MODE_TIMED;
        device.profile = "ideal";
        device.queue_timeout_ns = std::uint64_t{1} << 50;
        device.watchdog_cycles = std::uint64_t{1} << 50;
        faulty_ = open_faulty(device);
        EngineOptions options;
        options.policy = scenario_.settings.policy->name;
        options.window = scenario_.settings.window;
        options.drop = static_cast<Drop>(scenario_.settings.drop);
        options.smoothing_percent = scenario_.settings.smoothing;
        options.retry_after_ns = scenario_.settings.retry_after * tick_ns;
        for (const processors::Entry& entry : scenario_.entries) {
            const processors::Processor& first = scenario_.processors[entry.first];
            processors_of_classes_[entry.class_index] = first.described;
            ProcessorOptions& processor = options.processors.emplace_back();
            processor.name = entry.name;
            processor.class_name = scenario_.class_names[entry.class_index];
            if (first.described.workers > 1 || first.described.overhead != 0)
                throw Error(EINVAL, entry.name + ": one worker, and no overhead");
            if (first.core == 0) {
                waiting_.push_back(std::make_shared<WaitingProcessor>());
                processor.own = waiting_.back();
                continue;
            }
            processor.depth = first.described.depth;
            for (std::uint32_t i = 0; i < entry.count; i++) {
                processor.cores.push_back(scenario_.processors[entry.first + i].core);
                waiting_.push_back(nullptr);
            }
        }
        engine_ = std::make_unique<Engine>(faulty_.device, options);
    }

    void load() {
        for (const processors::Model& model : scenario_.models) {
            const auto file =
                test::waiting_model(model, processors_of_classes_, scenario_.class_names, tick_ns);
            for (std::size_t q = 0; q < waiting_.size(); q++) {
                if (!waiting_[q])
                    continue;
                const std::uint32_t c = scenario_.processors[q].described.class_index;
                std::vector<std::uint64_t> times;
                for (std::size_t u = 0; u < model.units.size(); u++)
                    times.push_back(model.times[u * scenario_.class_names.size() + c] * tick_ns);
                waiting_[q]->add(*file, std::move(times));
            }
            models_.push_back(engine_->load(file));
        }
    }

    json states() const {
        json states = json::array();
        for (const ProcessorState& state : engine_->processors())
            states.push_back({{"name", state.name},
                              {"runs", state.runs},
                              {"busy_us", state.busy_ns / tick_ns},
                              {"slowness", state.slowness},
                              {"failures", state.failures},
                              {"retries", state.retries}});
        return states;
    }

    std::uint64_t next_us() const {
        std::uint64_t next = simulator::ArrivalSource::never;
        for (const simulator::ArrivalSource& source : sources_)
            next = std::min(next, source.next());
        if (next_event_ < scenario_.events.size())
            next = std::min(next, scenario_.events[next_event_].at);
        return next;
    }

    void events(std::uint64_t now) {
        for (; next_event_ < scenario_.events.size() && scenario_.events[next_event_].at <= now;
             next_event_++) {
            const processors::ProcessorEvent& event = scenario_.events[next_event_];
            const unsigned core = scenario_.processors[event.processor].core;
            WaitingProcessor* const waiting = waiting_[event.processor].get();
            switch (event.type) {
            case processors::EventType::fail:
                waiting ? waiting->fail() : faulty_.faults->fail(core);
                break;
            case processors::EventType::recover:
                waiting ? waiting->recover() : faulty_.faults->recover(core);
                break;
            case processors::EventType::throttle:
                waiting ? waiting->throttle(event.factor)
                        : faulty_.faults->throttle(core, static_cast<unsigned>(event.factor));
                break;
            }
        }
    }

    void arrivals(std::uint64_t now) {
        for (std::size_t i = 0; i < sources_.size(); i++)
            while (sources_[i].next() <= now) {
                submit(i, sources_[i].next());
                sources_[i].take();
            }
    }

    void submit(std::size_t load, std::uint64_t at) {
        const processors::TaskKind& kind = scenario_.loads[load].kind;
        auto task = std::make_shared<Task>();
        task->load = load;
        task->number = numbers_[load]++;
        task->arrival = at;
        task->request = engine_->create_request();
        TensorMemory in, out;
        in.data = reinterpret_cast<std::byte*>(task->in.data());
        out.data = reinterpret_cast<std::byte*>(task->out.data());
        task->request->add(models_[kind.model], {&in, 1}, {&out, 1});
        task->request->on_end([this, task] {
            {
                const std::lock_guard lock(mutex_);
                ended_.push_back(task);
            }
            news_.notify_one();
        });
        TaskOptions options;
        options.priority = kind.priority;
        options.custom_id = kind.custom_id;
        if (kind.slo)
            options.deadline_ns = static_cast<std::int64_t>(begin_ns_ + (at + *kind.slo) * tick_ns);
        in_flight_++;
        task->submitted = now_us();
        task->request->submit(options);
    }

    std::uint64_t since_begin(std::uint64_t ns) const { return (ns - begin_ns_) / tick_ns; }

    void note_end(Task& task) {
        const std::uint64_t end = since_begin(task.request->ended_ns());
        const std::int32_t status = task.request->status();
        const std::string id =
            fmt::format("{}#{}", scenario_.loads[task.load].arrivals.id, task.number);
        for (const RunRecord& run : task.request->runs())
            runs_.push_back(
                {{"task", id},
                 {"run", run.number},
                 {"processor", run.processor},
                 {"dispatched", since_begin(run.dispatched_ns)},
                 {"start", run.start_ns == 0 ? json() : json(since_begin(run.start_ns))},
                 {"end", since_begin(run.end_ns)},
                 {"status", run.status == 0 ? "done" : "failed"}});
        tasks_.push_back({{"id", id},
                          {"arrival", task.arrival},
                          {"submitted", task.submitted},
                          {"end", end},
                          {"status", status == 0        ? "done"
                                     : status == -ETIME ? "dropped"
                                                        : "failed"}});
        sources_[task.load].task_ended(end);
        task.request.reset();
        in_flight_--;
    }

    const processors::ProcessorScenario& scenario_;
    std::vector<ovt_coord_processor> processors_of_classes_; ///< one of each
    FaultyDevice faulty_;
    std::vector<std::shared_ptr<WaitingProcessor>> waiting_; ///< by processor; null: a core
    std::unique_ptr<Engine> engine_;
    std::vector<std::shared_ptr<LoadedModel>> models_;
    std::vector<simulator::ArrivalSource> sources_;
    std::vector<std::uint64_t> numbers_; ///< of tasks, by load
    std::uint64_t begin_ns_ = 0;
    std::size_t next_event_ = 0;
    std::size_t in_flight_ = 0;
    json tasks_ = json::array(), runs_ = json::array();
    std::mutex mutex_;
    std::condition_variable news_;
    std::deque<std::shared_ptr<Task>> ended_;
};

/// Of this thread and those that it makes.
bool take_real_time_priority() {
    sched_param lowest{};
    lowest.sched_priority = sched_get_priority_min(SCHED_RR);
    return sched_setscheduler(0, SCHED_RR, &lowest) == 0;
}

} // namespace
} // namespace overtake::benchmarks

int main(int argc, char** argv) {
    using namespace overtake;
    if (argc != 2) {
        std::fprintf(stderr, "usage: bench_real_processors SCENARIO.json\n");
        return 2;
    }
    try {
        const auto scenario =
            simulator::processors::parse_processor_scenario(simulator::read_json(argv[1]), {});
        const bool is_real_time = benchmarks::take_real_time_priority();
        nlohmann::json printed = benchmarks::Run(scenario).take();
        printed["real_time"] = is_real_time;
        fmt::print("{}\n", printed.dump());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_real_processors: %s\n", error.what());
        return 1;
    }
    return 0;
}
