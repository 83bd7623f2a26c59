// SPDX-License-Identifier: MIT
#include "observe/watch/line.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "observe/units_text.hpp"

namespace overtake::watch {

namespace {

constexpr double ns_per_s = 1e9;

std::string status_text(std::int32_t status) {
    return status == 0 ? "ok" : std::strerror(-status);
}

std::string fc_text(const Event& event) {
    return event.part == 0
               ? fmt::format("job {} FC {}", event.tag, event.fc_index)
               : fmt::format("job {} part {} FC {}", event.tag, event.part, event.fc_index);
}

std::string job_text(const Event& event) {
    return event.part == 0 ? fmt::format("job {}", event.tag)
                           : fmt::format("job {} part {}", event.tag, event.part);
}

/// Returns the text that only this type has.
std::string details(const Event& event) {
    switch (event.type) {
    case EventType::ctx_create:
        return fmt::format("up to priority {}", event.priority);
    case EventType::ctx_destroy:
        return "";
    case EventType::job_queue:
    case EventType::fc_submit:
        return fmt::format("{}: {} FC{}, priority {}", job_text(event), event.fc_count,
                           event.fc_count == 1 ? "" : "s", event.priority);
    case EventType::fc_start:
    case EventType::fc_resume:
    case EventType::fc_timeout:
        return fc_text(event);
    case EventType::fc_preempt:
        return fmt::format("{} waits for job {} of pid {}", fc_text(event), event.by_tag,
                           event.by_pid);
    case EventType::fc_done:
        return fmt::format("{}: {:.3f} ms{}", fc_text(event),
                           static_cast<double>(event.duration_ns) / 1e6,
                           event.fault == 0 ? "" : fmt::format(", fault {}", event.fault));
    case EventType::job_done:
        return fmt::format("job {}: {}, {} FC{}, {:.3f} ms, preempted {}", event.tag,
                           status_text(event.status), event.executed,
                           event.executed == 1 ? "" : "s",
                           static_cast<double>(event.duration_ns) / 1e6, event.preemptions);
    case EventType::core_limit:
        return fmt::format("{} to {}{}", event.limit_before, event.limit,
                           event.by_pid == 0 ? "" : fmt::format(", by pid {}", event.by_pid));
    case EventType::core_reset:
        return "";
    default:
        return fmt::format(
            "task {} segment {} of {}{}", event.tag, event.segment, event.segment_count,
            event.type == EventType::task_end ? fmt::format(": {}", status_text(event.status))
                                              : "");
    }
}

/// Calls put(name, value) for each field that the type has, in the order in which people read them.
template <typename Put>
void put_fields(const Event& event, const Put& put) {
    using enum EventType;
    const auto is = [&](auto... types) { return ((event.type == types) || ...); };
    const bool is_task = event.type >= task_arrive;
    const bool is_fc = is(fc_start, fc_preempt, fc_resume, fc_done, fc_timeout);
    put("time_ns", event.time_ns);
    put("event", event_type_name(event.type));
    put("device", event.device);
    put("core", event.core);
    put("pid", event.pid);
    put("client", event.client);
    put("context", event.context);
    if (is_task || is_fc || is(job_queue, fc_submit, job_done))
        put("tag", event.tag);
    if (is_fc || is(job_queue, fc_submit, job_done))
        put("high", event.high);
    if (is_fc)
        put("fc_index", event.fc_index);
    if ((is_fc || is(fc_submit)) && event.part != 0)
        put("part", event.part);
    if (is_fc && event.stage != 0)
        put("stage", event.stage);
    if (is_task || is(ctx_create, job_queue, fc_submit, job_done))
        put("priority", event.priority);
    if (is_task || is(job_queue, fc_submit))
        put("custom_id", event.custom_id);
    if (is(job_queue, fc_submit))
        put("fc_count", event.fc_count);
    if (is(job_queue, task_arrive) && event.model != 0)
        put("model", model_name(event.model));
    if (is(job_queue))
        put("task", event.task);
    if (is(job_queue) && event.recorded)
        put("recorded", event.recorded);
    if (is_task || is(job_queue))
        put("segment", event.segment);
    if (is_task)
        put("segment_count", event.segment_count);
    if (is(fc_done, job_done))
        put("duration_ns", event.duration_ns);
    if (is(fc_done))
        put("fault", event.fault);
    if (is(job_done)) {
        put("executed", event.executed);
        put("preemptions", event.preemptions);
    }
    if (is(job_done, task_cpu_done, task_end))
        put("status", event.status);
    if (is(fc_preempt)) {
        put("by_client", event.by_client);
        put("by_context", event.by_context);
        put("by_tag", event.by_tag);
    }
    if (is(fc_preempt, core_limit))
        put("by_pid", event.by_pid);
    if (is(core_limit)) {
        put("limit", event.limit);
        put("limit_before", event.limit_before);
    }
}

std::string ms_text(std::uint64_t ns) {
    return fmt::format("{:.3f} ms", static_cast<double>(ns) / 1e6);
}

std::uint64_t job_count(const ProcessorEvent& event) {
    return event.job == 0 ? 0 : static_cast<std::uint64_t>(std::popcount(event.units));
}

/// Returns the tags as job_queue shows them.
std::string jobs_text(const ProcessorEvent& event) {
    switch (const std::uint64_t count = job_count(event)) {
    case 0:
        return "";
    case 1:
        return fmt::format(", job {}", event.job);
    default:
        return fmt::format(", jobs {}-{}", event.job, event.job + count - 1);
    }
}

std::string details(const ProcessorEvent& event, const std::string& processor) {
    const auto run = [&] {
        return fmt::format("run {}: {} on {}", event.run, units_text(event.units),
                           processor.empty() ? fmt::format("processor {}", event.processor)
                                             : processor);
    };
    switch (event.type) {
    case ProcessorEventType::processor:
        return fmt::format("{}: {}, {} run{}, ratio {:.2f}, {} retr{}", event.name,
                           name_of(event.state), event.unfinished, event.unfinished == 1 ? "" : "s",
                           static_cast<double>(event.ratio) / 1000, event.retries,
                           event.retries == 1 ? "y" : "ies");
    case ProcessorEventType::request_arrive:
        return fmt::format("priority {}", event.priority);
    case ProcessorEventType::run_dispatch:
        return fmt::format("{}, expected {}{}", run(), ms_text(event.expected_ns),
                           jobs_text(event));
    case ProcessorEventType::run_end:
        return fmt::format("{}: {}, {}", run(), status_text(event.status),
                           event.start_ns == 0 ? "not begun" : ms_text(event.executed_ns));
    case ProcessorEventType::request_end:
        return status_text(event.status) +
               (event.retries == 0
                    ? ""
                    : fmt::format(", {} retr{}", event.retries, event.retries == 1 ? "y" : "ies"));
    default:
        return "";
    }
}

} // namespace

std::string to_line(const ProcessorEvent& event, std::uint64_t model, const std::string& processor,
                    std::uint64_t origin_ns) {
    const auto at = static_cast<double>(static_cast<std::int64_t>(event.time_ns - origin_ns));
    std::string line = fmt::format("{:14.9f} {:>4} {:6} {:14} {:>8} {:9} {}", at / ns_per_s, "-",
                                   "-", name_of(event.type), event.pid,
                                   model != 0 ? model_name(model) : "-", details(event, processor));
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

nlohmann::ordered_json to_json(const ProcessorEvent& event, std::uint64_t model,
                               const std::string& name) {
    using enum ProcessorEventType;
    const bool is_processor = event.type == ProcessorEventType::processor;
    nlohmann::ordered_json json{{"time_ns", event.time_ns},
                                {"event", name_of(event.type)},
                                {"pid", event.pid},
                                {"engine", event.engine}};
    if (!is_processor) {
        json["task"] = event.task;
        if (model != 0)
            json["model"] = model_name(model);
    }
    if (event.type == request_arrive) {
        json["priority"] = event.priority;
        json["custom_id"] = event.custom_id;
    }
    if (event.type == run_dispatch || event.type == run_end) {
        json["run"] = event.run;
        json["units"] = event.units;
    }
    if (is_processor || json.contains("run"))
        json["processor"] = name;
    if (event.type == run_dispatch) {
        json["able"] = event.able;
        json["expected_ns"] = event.expected_ns;
        for (std::uint64_t i = 0; i < job_count(event); i++)
            json["jobs"].push_back(event.job + i);
    }
    if (event.type == run_end) {
        json["start_ns"] = event.start_ns;
        json["end_ns"] = event.end_ns;
        json["executed_ns"] = event.executed_ns;
    }
    if (event.type == run_end || event.type == request_end)
        json["status"] = event.status;
    if (is_processor) {
        json["number"] = event.processor;
        json["workers"] = event.workers;
        json["state"] = name_of(event.state);
        json["ratio"] = event.ratio;
        json["unfinished"] = event.unfinished;
        json["runs"] = event.runs;
        json["busy_ns"] = event.busy_ns;
    }
    if (is_processor || event.type == request_end)
        json["retries"] = event.retries;
    return json;
}

std::string to_line(const Event& event, const Job* job, std::uint64_t origin_ns) {
    const double at = static_cast<double>(static_cast<std::int64_t>(event.time_ns - origin_ns));
    const std::uint64_t model = job ? job->model : event.model;
    std::string line = fmt::format("{:14.9f} {:>4} {:6} {:14} {:>8} {:9} {}", at / ns_per_s,
                                   event.core != 0 ? std::to_string(event.core) : "-",
                                   event.high ? "HIGH" : "-", event_type_name(event.type),
                                   event.pid, model != 0 ? model_name(model) : "-", details(event));
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

nlohmann::ordered_json to_json(const Event& event) {
    nlohmann::ordered_json json;
    put_fields(event, [&](const char* name, const auto& value) { json[name] = value; });
    return json;
}

std::string to_json_line(const Event& event) {
    std::string line;
    line.reserve(300);
    const auto put = [&]<typename Value>(const char* name, const Value& value) {
        line += line.empty() ? "{\"" : ",\"";
        line += name;
        line += "\":";
        if constexpr (std::is_convertible_v<Value, std::string_view>) {
            line += nlohmann::json(value).dump(-1, ' ', false,
                                               nlohmann::json::error_handler_t::replace);
        } else if constexpr (std::is_same_v<Value, bool>) {
            line += value ? "true" : "false";
        } else {
            const fmt::format_int digits(value);
            line.append(digits.data(), digits.size());
        }
    };
    put_fields(event, put);
    line += '}';
    return line;
}

} // namespace overtake::watch
