// SPDX-License-Identifier: MIT
#include "simulator/blame_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "observe/blame/sentence.hpp"
#include "simulator/summary.hpp"
#include "simulator/table.hpp"

namespace overtake::simulator {
namespace {

using Json = nlohmann::ordered_json;

bool is_queued(blame::Cause cause) {
    return cause == blame::Cause::task_limit || cause == blame::Cause::barred ||
           cause == blame::Cause::slot;
}

std::string column_head(blame::Cause cause, const std::string& by) {
    switch (cause) {
    case blame::Cause::task_limit:
        return "task limit, " + by;
    case blame::Cause::barred:
        return "queue behind " + by;
    default:
        return "slot of " + by;
    }
}

} // namespace

BlameReport::BlameReport(const Scenario& scenario, std::size_t most, const Window& window)
    : EventSource(scenario, [this](const Event& event) { blame_.add(event); }), scenario_(scenario),
      window_(window), classes_(scenario.classes.size()), worst_(most),
      blame_(options(), [this](const blame::Report& of) { report(of); }) {}

blame::Blame::Options BlameReport::options() {
    return {.rules = {.cores = scenario_.cores,
                      .most_cores = scenario_.cores,
                      .time_unit_ns = scenario_.tick_ns,
                      .one_queue = scenario_.service_mode,
                      .settings = scenario_.settings},
            .plan = [this](const Event& arrive) { return plan_of(arrive); }};
}

/// Returns the facts that the scheduler needs and events do not have.
blame::Plan BlameReport::plan_of(const Event& arrive) const {
    const LiveTask& task = *live_.at(arrive.tag);
    const bool has_deadline = task.kind->slo && *task.kind->slo < ~std::uint64_t{0} - task.arrival;
    return {task.kind->chain->schedule,
            has_deadline ? task.arrival + *task.kind->slo : ~std::uint64_t{0}};
}

std::string BlameReport::id_of(const LiveTask& task) const {
    return task.load == LiveTask::not_a_load
               ? scenario_.listed[task.number].id
               : fmt::format("{}#{}", scenario_.loads[task.load].id, task.number);
}

void BlameReport::report(const blame::Report& of) {
    const auto found = live_.find(of.is_task ? of.tag : of.tag >> 20);
    const LiveTask& task = *found->second;
    live_.erase(found);
    if (!window_.holds(task.arrival))
        return;
    const std::uint32_t task_class = task.kind->task_class;
    classes_[task_class].ended++;
    for (const blame::Part& part : of.parts)
        if (is_queued(part.cause))
            classes_[task_class]
                .queued[{part.cause, static_cast<std::uint32_t>(part.by.model - 1)}] += part.ns;
    std::optional<std::uint64_t> limit;
    if (task.kind->slo)
        limit = *task.kind->slo > ~std::uint64_t{0} / scenario_.tick_ns
                    ? ~std::uint64_t{0}
                    : *task.kind->slo * scenario_.tick_ns;
    worst_.add(task_class, {of, limit, id_of(task)});
}

/// Returns the scenario's word for clients, and their names.
std::pair<const char*, const std::vector<std::string>*> BlameReport::clients() const {
    return scenario_.kind == Kind::task ? std::pair("process", &scenario_.processes)
                                        : std::pair("context", &scenario_.context_names);
}

std::string BlameReport::name_of(const blame::Who& who) const {
    const std::string& name = scenario_.classes[who.model - 1].name;
    const std::string& client = (*clients().second)[who.client - 1];
    return client.empty() ? name : fmt::format("{} ({})", name, client);
}

std::string BlameReport::sentence_of(const blame::Worst::Item& item) const {
    return blame::sentence(
        item.name, item.report, [this](const blame::Who& who) { return name_of(who); },
        item.limit_ns);
}

std::string BlameReport::text() const {
    std::string text;
    for (const blame::Worst::Item& item : worst_.list())
        text += sentence_of(item) + "\n";
    return text;
}

std::string BlameReport::queued_text() const {
    std::vector<Reason> reasons;
    for (const ClassSums& of : classes_)
        for (const auto& [reason, ns] : of.queued)
            if (std::ranges::find(reasons, reason) == reasons.end())
                reasons.push_back(reason);
    if (reasons.empty())
        return "";
    std::ranges::sort(reasons);
    std::vector<std::string> head = {"class", "queued"};
    for (const auto& [cause, by] : reasons)
        head.push_back(column_head(cause, scenario_.classes[by].name));
    Table table(head);
    for (std::size_t i = 0; i < classes_.size(); i++) {
        const ClassSums& of = classes_[i];
        if (of.ended == 0)
            continue;
        const auto mean = [&](std::uint64_t ns) {
            return ns == 0
                       ? "-"
                       : format_time(static_cast<double>(ns) / 1e3 / static_cast<double>(of.ended));
        };
        std::uint64_t sum = 0;
        for (const auto& [reason, ns] : of.queued)
            sum += ns;
        std::vector<std::string> row = {scenario_.classes[i].name, mean(sum)};
        for (const Reason& reason : reasons)
            row.push_back(mean(of.queued.contains(reason) ? of.queued.at(reason) : 0));
        table.add(row);
    }
    return fmt::format("why tasks were queued, mean of a task\n{}", table.text());
}

void BlameReport::add_to(Json& summary) const {
    for (std::size_t i = 0; i < classes_.size(); i++) {
        Json list = Json::array();
        for (const auto& [reason, ns] : classes_[i].queued)
            list.push_back({{"cause", blame::cause_name(reason.first)},
                            {"by", scenario_.classes[reason.second].name},
                            {"ns", ns}});
        summary["classes"][i]["queued_by"] = list;
    }
    summary["blame"] = Json::array();
    for (const blame::Worst::Item& item : worst_.list()) {
        Json parts = Json::array();
        for (const blame::Part& part : item.report.parts) {
            parts.push_back({{"cause", blame::cause_name(part.cause)}, {"ns", part.ns}});
            if (!blame::has_blocker(part.cause))
                continue;
            parts.back()["by"] = scenario_.classes[part.by.model - 1].name;
            const auto [key, names] = clients();
            parts.back()[key] = (*names)[part.by.client - 1];
        }
        summary["blame"].push_back(
            {{"id", item.name},
             {"class", scenario_.classes[item.report.who.model - 1].name},
             {"arrival_ns", item.report.arrival_ns},
             {"latency_ns", item.report.latency_ns()},
             {"slo_ns", item.limit_ns ? Json(*item.limit_ns) : Json(nullptr)},
             {"sentence", sentence_of(item)},
             {"parts", parts}});
    }
}

void BlameReport::arrived(LiveTask& task, std::uint64_t time) {
    live_[task_tag(task)] = &task;
    EventSource::arrived(task, time);
}

} // namespace overtake::simulator
