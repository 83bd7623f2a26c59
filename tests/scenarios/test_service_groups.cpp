// SPDX-License-Identifier: MIT
//
// Random scenarios of the task level with groups in service mode: several processes with a queue of
// tasks each, on one device server whose clock is stepped by hand. Compares their timelines to the
// microsecond with those of the oracle of groups, with which `overtake sim` agrees
// (test_group_scenarios.cpp).
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "groups_oracle.hpp"
#include "overtake/service.hpp"
#include "programs.hpp"
#include "random_groups.hpp"

namespace overtake::test {
namespace {

using nlohmann::json;

constexpr std::uint64_t ns_per_us = 1000;
constexpr std::uint64_t us_per_ms = 1000;

/// The records of FCs; the thread that ends an FC adds its record.
class Records {
public:
    static void add(void* context, const FcRecord& record) {
        auto& records = *static_cast<Records*>(context);
        const std::lock_guard lock(records.mutex_);
        records.list_.push_back(record);
    }
    std::vector<FcRecord> all() {
        const std::lock_guard lock(mutex_);
        return list_;
    }

private:
    std::mutex mutex_;
    std::vector<FcRecord> list_;
};

std::uint64_t env(const json& scenario, const char* name, std::uint64_t otherwise) {
    return scenario.value("env", json::object()).value(name, otherwise);
}

ServerOptions options_of(const json& scenario, Records& records) {
    ServerOptions options;
    const json limits = scenario.value("core_limit", json(0));
    options.device.cores = scenario.at("cores");
    options.device.core_limits =
        limits.is_array() ? limits.get<std::vector<unsigned>>()
                          : std::vector<unsigned>(options.device.cores, limits.get<unsigned>());
    options.device.normal_floor = scenario.value("normal_floor", 0u);
    options.device.mode = OVERTAKE_MODE_TIMED;
    options.device.profile = "ideal"; // whose cycles are nanoseconds
    options.device.manual_clock = true;
    options.device.watchdog_cycles = ~0ull >> 1;
    options.device.on_fc = Records::add;
    options.device.on_fc_context = &records;
    const json overdue = scenario.value("overdue", json::object());
    options.service = {
        .slots = scenario.value("slots", 1u),
        .task_limit = static_cast<std::uint32_t>(env(scenario, "HB_MAX_TASK_NUM", 8)),
        .threshold_percent =
            static_cast<std::uint32_t>(env(scenario, "HB_DNN_BPU_SCHEDULE_THRESHOLD", 10)),
        .share = 0,
        .insert_max_time_ns =
            env(scenario, "HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME", 1000) * us_per_ms * ns_per_us,
        .wait_dispatch_time_ns =
            env(scenario, "HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME", 20) * us_per_ms * ns_per_us,
        .overdue_min_time_ns = overdue.value("min_time", std::uint64_t{0}) * ns_per_us,
        .overdue_factor = overdue.value("factor", std::uint64_t{4}),
    };
    return options;
}

/// A segment, ready to be submitted.
struct Prepared {
    std::uint64_t cpu = 0, estimate = 0; ///< 0 for a BPU segment
    std::vector<overtake_part> parts;    ///< empty: no group
    std::vector<std::uint32_t> stages;
    std::unique_ptr<Program> program;
};

class ServiceDriver {
public:
    ServiceDriver(const std::string& path, const json& scenario)
        : device_(open_server(path)), scenario_(scenario), expected_(groups_timeline(scenario)) {
        for (const json& task : scenario.at("tasks")) {
            processes_of_.push_back(process_of(task, path));
            tasks_.push_back(prepare(task));
        }
        events_.resize(tasks_.size());
    }

    json run(Records& records) {
        ManualClock& clock = *device_->manual_clock();
        origin_ns_ = clock.now_ns() + ns_per_us;
        std::set<std::uint64_t> instants;
        for (const char* list : {"tasks", "cancels"})
            for (const json& entry : scenario_.value(list, json::array()))
                instants.insert(entry.at("at").get<std::uint64_t>());
        for (const json& fc : expected_.at("fcs"))
            instants.insert(fc.at("end").get<std::uint64_t>());
        for (const json& cpu : expected_.at("cpu"))
            instants.insert(
                {cpu.at("start").get<std::uint64_t>(), cpu.at("end").get<std::uint64_t>()});
        for (const json& task : expected_.at("tasks"))
            instants.insert(task.at("end").get<std::uint64_t>());
        for (const std::uint64_t instant : instants) {
            clock.advance_to(origin_ns_ + instant * ns_per_us);
            act(instant);
            clock.advance_to(origin_ns_ + instant * ns_per_us + 1); // the calls take effect
            if (!hear(instant))
                break;
        }
        return timeline(records.all());
    }

private:
    struct Process {
        std::string name;
        std::shared_ptr<Device> device;
        std::unique_ptr<ServiceQueue> queue;
        std::size_t heard = 0; ///< events
    };
    struct CpuRun {
        std::size_t task;
        std::uint32_t segment;
        std::uint64_t start, end;
    };

    std::size_t process_of(const json& task, const std::string& path) {
        const std::string name = task.value("process", "");
        const auto known = std::ranges::find(processes_, name, &Process::name);
        if (known != processes_.end())
            return static_cast<std::size_t>(known - processes_.begin());
        ServiceQueueOptions options;
        options.max_priority = 255;
        options.workers = static_cast<std::uint32_t>(env(scenario_, "HB_MAX_THREAD_NUM", 4));
        Process process{name, open_server(path), nullptr};
        process.queue = process.device->create_service_queue(options);
        processes_.push_back(std::move(process));
        return processes_.size() - 1;
    }

    std::deque<Prepared> prepare(const json& task) {
        std::deque<Prepared> segments;
        Device& device = *processes_[processes_of_.back()].device;
        const json models = task.contains("models") ? task["models"] : json{task.at("model")};
        for (const json& model : models)
            for (const json& segment :
                 scenario_.at("models").at(model.get<std::string>()).at("segments"))
                prepare(segment, device, segments.emplace_back());
        return segments;
    }

    static void prepare(const json& segment, Device& device, Prepared& prepared) {
        std::vector<std::uint64_t> fcs;
        if (segment.contains("cpu")) {
            prepared.cpu = segment["cpu"];
            prepared.estimate = segment.value("estimate", prepared.cpu);
            return;
        }
        if (segment.contains("bpu"))
            fcs = segment["bpu"].get<std::vector<std::uint64_t>>();
        for (const json& part : segment.value("parts", json::array())) {
            const std::size_t before = fcs.size();
            for (std::uint32_t stage = 0; stage < part.at("stages").size(); stage++)
                for (const json& fc : part["stages"][stage]) {
                    fcs.push_back(fc);
                    prepared.stages.push_back(stage);
                }
            prepared.parts.push_back({static_cast<std::uint32_t>(fcs.size() - before), core_any});
        }
        prepared.program = std::make_unique<Program>(delays(device, fcs));
    }

    /// Makes the calls of an instant: ends of CPU segments, arrivals, cancels.
    void act(std::uint64_t instant) {
        for (const CpuRun& run : cpu_)
            if (run.end == instant)
                queue_of(run.task).cpu_done(run.task, run.segment, 0);
        const json& tasks = scenario_.at("tasks");
        for (std::size_t i = 0; i < tasks.size(); i++)
            if (tasks[i].at("at") == instant)
                submit(i, tasks[i]);
        for (const json& cancel : scenario_.value("cancels", json::array()))
            if (cancel.at("at") == instant)
                for (std::size_t i = 0; i < tasks.size(); i++)
                    if (tasks[i].at("id") == cancel.at("id"))
                        queue_of(i).cancel(i);
    }

    void submit(std::size_t number, const json& entry) {
        std::vector<ServiceSegment> segments;
        for (const Prepared& prepared : tasks_[number]) {
            ServiceSegment& segment = segments.emplace_back();
            if (prepared.cpu != 0) { // a CPU segment has no other fields
                segment.cpu_key = number << 16 | segments.size();
                segment.expected_ns = prepared.estimate * ns_per_us;
                continue;
            }
            segment.fcs = prepared.program->fcs;
            segment.bindings = prepared.program->bindings;
            segment.parts = prepared.parts;
            segment.stages = prepared.stages;
        }
        ServiceTask task;
        task.tag = number;
        task.segments = segments;
        task.priority = entry.value("priority", 0u);
        task.custom_id = entry.value("custom_id", std::int64_t{0});
        task.core = entry.value("core", 0u);
        queue_of(number).submit(task);
    }

    /// Handles the events of each process that are due by now. Returns false if some are missing.
    bool hear(std::uint64_t instant) {
        for (std::size_t process = 0; process < processes_.size(); process++) {
            Process& of = processes_[process];
            const std::size_t wanted = events_until(process, instant);
            while (of.heard < wanted) {
                const std::vector<ServiceEvent> events = of.queue->reap(patience());
                if (events.empty())
                    return false;
                for (const ServiceEvent& event : events)
                    hear(event);
                of.heard += events.size();
            }
        }
        return true;
    }

    std::size_t events_until(std::size_t process, std::uint64_t instant) const {
        std::size_t events = 0;
        for (const json& cpu : expected_.at("cpu"))
            events += cpu.at("start") <= instant && processes_of_[number_of(cpu)] == process;
        const json& tasks = expected_.at("tasks");
        for (std::size_t i = 0; i < tasks.size(); i++)
            events += tasks[i].at("end") <= instant && processes_of_[i] == process;
        return events;
    }

    std::size_t number_of(const json& cpu) const {
        const json& tasks = scenario_.at("tasks");
        for (std::size_t i = 0; i < tasks.size(); i++)
            if (tasks[i].at("id") == cpu.at("task"))
                return i;
        return 0;
    }

    void hear(const ServiceEvent& event) {
        if (event.type == ServiceEvent::Type::ended) {
            events_[event.tag] = event;
            return;
        }
        const std::uint64_t start = us(event.start_ns);
        cpu_.push_back({static_cast<std::size_t>(event.tag), event.segment, start,
                        start + tasks_[event.tag][event.segment].cpu});
    }

    json timeline(std::vector<FcRecord> records) {
        json timeline = {{"version", 1}, {"fcs", json::array()}, {"tasks", json::array()}};
        std::ranges::stable_sort(records, {}, [](const FcRecord& record) {
            return std::pair(record.start_ns, record.core);
        });
        for (const FcRecord& record : records)
            timeline["fcs"].push_back(fc_from(record));
        std::ranges::stable_sort(cpu_, {},
                                 [](const CpuRun& run) { return std::pair(run.start, run.task); });
        timeline["cpu"] = json::array();
        for (const CpuRun& run : cpu_)
            timeline["cpu"].push_back({{"task", id_of(run.task)},
                                       {"segment", run.segment},
                                       {"start", run.start},
                                       {"end", run.end}});
        for (std::size_t i = 0; i < tasks_.size(); i++) {
            const ServiceEvent& event = events_[i];
            timeline["tasks"].push_back(
                {{"id", id_of(i)},
                 {"core", event.core != 0 ? event.core : scenario_["tasks"][i].value("core", 0u)},
                 {"arrival", us(event.arrived_ns)},
                 {"dispatched",
                  event.dispatched_ns == 0 ? json(nullptr) : json(us(event.dispatched_ns))},
                 {"end", us(event.ended_ns)},
                 {"cancelled", event.status == -ECANCELED}});
        }
        return timeline;
    }

    json fc_from(const FcRecord& record) const {
        for (std::size_t i = 0; i < tasks_.size(); i++)
            for (std::size_t segment = 0; segment < events_[i].segments.size(); segment++) {
                const Prepared& prepared = tasks_[i][segment];
                if (prepared.cpu != 0 || events_[i].segments[segment].tag != record.tag ||
                    events_[i].segments[segment].queued_ns == 0)
                    continue;
                json fc = {{"job", id_of(i) + "." + std::to_string(segment)},
                           {"index", record.index},
                           {"core", record.core},
                           {"ring", record.high ? "high" : "normal"},
                           {"start", us(record.start_ns)},
                           {"end", us(record.end_ns)}};
                if (prepared.parts.empty())
                    return fc;
                std::uint32_t at = record.index;
                for (std::uint32_t part = 0; part < record.part; part++)
                    at += prepared.parts[part].fc_count;
                fc["part"] = record.part;
                fc["stage"] = prepared.stages.at(at);
                return fc;
            }
        return "an FC of no segment";
    }

    std::string id_of(std::size_t task) const { return scenario_["tasks"][task].at("id"); }
    ServiceQueue& queue_of(std::size_t task) { return *processes_[processes_of_[task]].queue; }
    std::uint64_t us(std::uint64_t time_ns) const { return (time_ns - origin_ns_) / ns_per_us; }

    const std::shared_ptr<Device> device_;
    const json& scenario_;
    const json expected_;
    std::vector<Process> processes_;
    std::vector<std::size_t> processes_of_; ///< by task
    std::vector<std::deque<Prepared>> tasks_;
    std::vector<ServiceEvent> events_; ///< ends of tasks
    std::vector<CpuRun> cpu_;
    std::uint64_t origin_ns_ = 0;
};

/// Removes the keys for which a server has no option.
json random_served(std::uint64_t seed) {
    json scenario = random_groups(seed, true);
    scenario["service_mode"] = true;
    scenario.erase("sync");
    if (!scenario.value("normal_floor", json(0)).is_number())
        scenario.erase("normal_floor");
    return scenario;
}

/// Runs 100 scenarios, or OVERTAKE_TEST_SCENARIOS of them.
TEST(ServiceGroups, HaveTheTimelineThatTheOracleSays) {
    std::uint64_t count = 100;
    if (const char* wanted = std::getenv("OVERTAKE_TEST_SCENARIOS"))
        count = std::strtoull(wanted, nullptr, 10);
    std::size_t wide = 0, processes = 0, overdue = 0;
    for (std::uint64_t seed = 1; seed <= count; seed++) {
        const json scenario = random_served(seed);
        json expected = groups_timeline(scenario);
        expected.erase("jobs");
        Records records;
        const TestServer server(options_of(scenario, records));
        ServiceDriver driver(server.path(), scenario);
        ASSERT_EQ(driver.run(records), expected) << "seed " << seed << ": " << scenario;
        for (const json& fc : expected["fcs"])
            wide += fc.value("part", 0) != 0;
        processes += scenario.dump().find("\"process\"") != std::string::npos;
        overdue += scenario.contains("overdue");
    }
    EXPECT_GT(wide, 5 * count) << "the scenarios do not try groups";
    EXPECT_GT(processes, count / 2) << "the scenarios do not try several processes";
    EXPECT_GT(overdue, count / 5) << "the scenarios do not try what is overdue";
}

} // namespace
} // namespace overtake::test
