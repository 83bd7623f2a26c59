// SPDX-License-Identifier: MIT
#include "task_scenario.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <ostream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace overtake::test {

using nlohmann::json;

namespace {

TaskSegment segment_from(const json& from) {
    TaskSegment segment;
    if (from.contains("bpu") == from.contains("cpu"))
        throw std::runtime_error("a segment needs one of bpu and cpu");
    if (from.contains("bpu"))
        segment.bpu = from.at("bpu").get<std::vector<std::uint64_t>>();
    else
        segment.cpu = from.at("cpu");
    if (from.contains("estimate"))
        segment.estimate = from.at("estimate").get<std::uint64_t>();
    return segment;
}

void append_model(std::vector<TaskSegment>& segments, const json& models, const std::string& name) {
    for (const json& segment : models.at(name).at("segments"))
        segments.push_back(segment_from(segment));
}

ScenarioTask task_from(const json& from, const json& models) {
    ScenarioTask task;
    task.id = from.at("id");
    task.at = from.at("at");
    task.process = from.value("process", "");
    task.core = from.value("core", 0u);
    task.priority = from.value("priority", 0u);
    task.custom_id = from.value("custom_id", std::int64_t{0});
    if (from.contains("slo"))
        task.slo = from.at("slo").get<std::uint64_t>();
    if (from.contains("model") == from.contains("models"))
        throw std::runtime_error("a task needs one of model and models");
    if (from.contains("model"))
        append_model(task.segments, models, from.at("model"));
    else
        for (const json& name : from.at("models"))
            append_model(task.segments, models, name);
    return task;
}

void read_env(TaskScenario& scenario, const json& env) {
    scenario.threshold_percent = env.value("HB_DNN_BPU_SCHEDULE_THRESHOLD", std::uint64_t{10});
    scenario.insert_max_time_ms =
        env.value("HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME", std::uint64_t{1000});
    scenario.wait_dispatch_time_ms =
        env.value("HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME", std::uint64_t{20});
    scenario.max_tasks = env.value("HB_MAX_TASK_NUM", std::size_t{8});
    scenario.max_threads = env.value("HB_MAX_THREAD_NUM", std::size_t{4});
}

std::optional<std::uint64_t> time_or_null(const json& from) {
    if (from.is_null())
        return std::nullopt;
    return from.get<std::uint64_t>();
}

std::string text(std::optional<std::uint64_t> time) {
    return time ? std::to_string(*time) : "null";
}

} // namespace

std::uint64_t TaskSegment::bpu_time() const {
    return std::accumulate(bpu.begin(), bpu.end(), std::uint64_t{0});
}

std::uint64_t ScenarioTask::bpu_time() const {
    std::uint64_t time = 0;
    for (const TaskSegment& segment : segments)
        time += segment.bpu_time();
    return time;
}

std::uint64_t ScenarioTask::deadline() const {
    constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    return slo && *slo < last - at ? at + *slo : last;
}

TaskScenario task_scenario_from(const json& from) {
    if (from.at("version") != 1 || from.at("kind") != "task")
        throw std::runtime_error("not a task-level scenario of version 1");
    refuse_drawn_times(from);
    TaskScenario scenario;
    scenario.core_limits = core_limits_from(from);
    scenario.limits = limits_from(from);
    scenario.fair = from.value("fair", false);
    scenario.service_mode = from.value("service_mode", false);
    scenario.policy = from.value("policy", "priority");
    scenario.slots = from.value("slots", std::size_t{1});
    read_env(scenario, from.value("env", json::object()));
    scenario.share = from.value("share", false);
    if (from.contains("overdue")) {
        scenario.overdue_min_time = from.at("overdue").at("min_time").get<std::uint64_t>();
        scenario.overdue_factor = from.at("overdue").value("factor", std::uint64_t{4});
    }
    for (const json& death : from.value("deaths", json::array()))
        scenario.deaths.push_back({death.at("process"), death.at("at")});
    for (const json& workers : from.value("workers", json::array()))
        scenario.workers[workers.at("process")] = workers.at("count");
    for (const json& task : from.at("tasks"))
        scenario.tasks.push_back(task_from(task, from.at("models")));
    for (const json& cancel : from.value("cancels", json::array())) {
        const std::string id = cancel.at("id");
        const auto task = std::ranges::find(scenario.tasks, id, &ScenarioTask::id);
        if (task == scenario.tasks.end())
            throw std::runtime_error("cancels an unknown task");
        scenario.cancels.push_back(
            {static_cast<std::size_t>(task - scenario.tasks.begin()), cancel.at("at")});
    }
    return scenario;
}

TaskTimeline task_timeline_from(const json& from) {
    TaskTimeline timeline;
    timeline.device = timeline_from(from);
    for (const json& cpu : from.at("cpu"))
        timeline.cpu.push_back({cpu.at("task"), cpu.at("segment"), cpu.at("start"), cpu.at("end")});
    for (const json& task : from.at("tasks"))
        timeline.tasks.push_back({task.at("id"), task.at("core"), task.at("arrival"),
                                  time_or_null(task.at("dispatched")), time_or_null(task.at("end")),
                                  task.at("cancelled")});
    return timeline;
}

TaskScenario read_task_scenario(const std::string& path) {
    return task_scenario_from(read_json(path));
}

TaskTimeline read_task_timeline(const std::string& path) {
    return task_timeline_from(read_json(path));
}

bool fits_a_clock(const TaskTimeline& timeline) {
    return std::ranges::all_of(timeline.tasks, [](const TimelineTask& task) {
        return task.end && *task.end < 1'000'000'000'000;
    });
}

std::ostream& operator<<(std::ostream& out, const TimelineCpu& cpu) {
    return out << cpu.task << "." << cpu.segment << " " << cpu.start << ".." << cpu.end;
}

std::ostream& operator<<(std::ostream& out, const TimelineTask& task) {
    return out << task.id << " core " << task.core << " arrival " << task.arrival << " dispatched "
               << text(task.dispatched) << " end " << text(task.end)
               << (task.cancelled ? " cancelled" : "");
}

std::ostream& operator<<(std::ostream& out, const TaskTimeline& timeline) {
    out << timeline.device << "cpu:\n";
    for (const TimelineCpu& cpu : timeline.cpu)
        out << "  " << cpu << "\n";
    out << "tasks:\n";
    for (const TimelineTask& task : timeline.tasks)
        out << "  " << task << "\n";
    return out;
}

} // namespace overtake::test
