// SPDX-License-Identifier: MIT
#include "processors_timeline.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <nlohmann/json.hpp>

#include "processors_oracle.hpp"

namespace overtake::test {

using nlohmann::json;

namespace processors {

namespace {

template <typename Value>
json or_null(const std::optional<Value>& value) {
    return value ? json(*value) : json(nullptr);
}

json name_of(const std::optional<Status>& status) {
    if (!status)
        return nullptr;
    switch (*status) {
    case Status::done:
        return "done";
    case Status::failed:
        return "failed";
    case Status::cancelled:
        return "cancelled";
    default:
        return "dropped";
    }
}

std::string job_of(const Scenario& scenario, const Run& run) {
    return scenario.tasks[run.task].id + "." + std::to_string(run.number);
}

json fcs_of(const Scenario& scenario, const Board& board) {
    std::vector<FcRecord> fcs = board.fcs();
    std::ranges::stable_sort(fcs, [](const FcRecord& a, const FcRecord& b) {
        return a.start != b.start ? a.start < b.start : a.processor < b.processor;
    });
    json list = json::array();
    for (const FcRecord& fc : fcs)
        list.push_back({{"job", job_of(scenario, board.runs()[fc.run])},
                        {"index", fc.index},
                        {"core", scenario.processors[fc.processor].core_number},
                        {"ring", fc.high ? "high" : "normal"},
                        {"start", fc.start},
                        {"end", fc.end}});
    return list;
}

/// Counts the pairs of neighbouring FCs of a NORMAL run between which a HIGH FC ran on its core.
std::size_t preemptions_of(const Board& board, RunNumber number) {
    if (board.high(board.runs()[number]))
        return 0;
    std::vector<FcRecord> own;
    std::ranges::copy_if(board.fcs(), std::back_inserter(own),
                         [&](const FcRecord& fc) { return fc.run == number; });
    std::size_t count = 0;
    for (std::size_t i = 1; i < own.size(); i++)
        count += std::ranges::any_of(board.fcs(), [&](const FcRecord& fc) {
            return fc.high && fc.processor == own[i].processor && fc.start >= own[i - 1].end &&
                   fc.end <= own[i].start;
        });
    return count;
}

json jobs_of(const Scenario& scenario, const Board& board) {
    json list = json::array();
    for (RunNumber number = 0; number < board.runs().size(); number++) {
        const Run& run = board.runs()[number];
        const Processor& processor = scenario.processors[run.processor];
        if (!processor.pool)
            list.push_back({{"id", job_of(scenario, run)},
                            {"core", processor.core_number},
                            {"arrival", run.dispatched},
                            {"start", or_null(run.start)},
                            {"end", run.end},
                            {"cancelled", run.status == Status::cancelled},
                            {"preemptions", preemptions_of(board, number)}});
    }
    return list;
}

json runs_of(const Scenario& scenario, const Board& board) {
    json list = json::array();
    for (const Run& run : board.runs())
        list.push_back({{"task", scenario.tasks[run.task].id},
                        {"run", run.number},
                        {"units", run.units},
                        {"processor", scenario.processors[run.processor].name},
                        {"dispatched", run.dispatched},
                        {"start", or_null(run.start)},
                        {"end", run.end},
                        {"status", name_of(run.status)}});
    return list;
}

json tasks_of(const Scenario& scenario, const Board& board) {
    json list = json::array();
    for (std::size_t task = 0; task < scenario.tasks.size(); task++) {
        const TaskState& state = board.task(task);
        list.push_back({{"id", scenario.tasks[task].id},
                        {"arrival", scenario.tasks[task].at},
                        {"dispatched", or_null(state.dispatched)},
                        {"end", or_null(state.end)},
                        {"status", name_of(state.status)},
                        {"retries", state.retries}});
    }
    return list;
}

/// The keys that come before all others.
constexpr std::array first_keys = {
    // Keys of files.
    "version", "kind", "name", "description", "policy", "map", "window", "drop", "smoothing",
    "retry_after", "processors", "rates", "models", "fcs", "jobs", "runs", "tasks", "events",
    "cancels",
    // Keys of records.
    "id", "job", "index", "task", "run", "units", "core", "ring", "at", "model", "class", "cores",
    "workers", "time", "processor", "event", "arrival", "dispatched", "start", "end", "status",
    "retries", "cancelled", "preemptions"};

nlohmann::ordered_json ordered(const json& value) {
    if (value.is_array()) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const json& each : value)
            list.push_back(ordered(each));
        return list;
    }
    if (!value.is_object())
        return nlohmann::ordered_json::parse(value.dump());
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const char* key : first_keys)
        if (value.contains(key))
            object[key] = ordered(value.at(key));
    for (const auto& [key, each] : value.items())
        if (!object.contains(key))
            object[key] = ordered(each);
    return object;
}

/// Returns the JSON on one line, with a space after each colon and comma outside strings.
std::string line_of(const nlohmann::ordered_json& value) {
    if (!value.is_structured())
        return value.dump();
    std::string line;
    for (const auto& [key, each] : value.items()) {
        line += line.empty() ? "" : ", ";
        if (value.is_object())
            line += nlohmann::ordered_json(key).dump() + ": ";
        line += line_of(each);
    }
    return value.is_object() ? "{" + line + "}" : "[" + line + "]";
}

} // namespace

json timeline_of(const Scenario& scenario, const Board& board) {
    return {{"version", 1},
            {"fcs", fcs_of(scenario, board)},
            {"jobs", jobs_of(scenario, board)},
            {"runs", runs_of(scenario, board)},
            {"tasks", tasks_of(scenario, board)}};
}

} // namespace processors

std::string processors_text(const json& file) {
    const nlohmann::ordered_json in_order = processors::ordered(file);
    std::string text;
    for (const auto& [key, value] : in_order.items()) {
        text += text.empty() ? "{\n " : ",\n ";
        text += nlohmann::ordered_json(key).dump() + ": ";
        const bool has_records = std::ranges::any_of(
            value, [](const nlohmann::ordered_json& each) { return each.is_structured(); });
        if (!value.is_structured() || !has_records) {
            text += processors::line_of(value);
            continue;
        }
        std::string records;
        for (const auto& [name, each] : value.items()) {
            records += records.empty() ? "\n  " : ",\n  ";
            if (value.is_object())
                records += nlohmann::ordered_json(name).dump() + ": ";
            records += processors::line_of(each);
        }
        text += value.is_object() ? "{" + records + "\n }" : "[" + records + "\n ]";
    }
    return text + "\n}\n";
}

} // namespace overtake::test
