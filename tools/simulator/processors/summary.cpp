// SPDX-License-Identifier: MIT
#include "simulator/processors/summary.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace overtake::simulator::processors {
namespace {

/// The smallest that so many percent do not exceed.
std::uint64_t percentile(std::vector<std::uint64_t> values, double percent) {
    if (values.empty())
        return 0;
    std::ranges::sort(values);
    const auto rank =
        static_cast<std::size_t>(std::ceil(static_cast<double>(values.size()) * percent / 100));
    return values[std::max<std::size_t>(rank, 1) - 1];
}

} // namespace

Tally::Tally(const ProcessorScenario& scenario)
    : scenario_(scenario), classes_(scenario.task_classes.size()),
      processors_(scenario.processors.size()) {}

double Tally::us(std::uint64_t time) const {
    return static_cast<double>(time) * static_cast<double>(scenario_.tick_ns) / 1000;
}

void Tally::arrived(LiveTask& task, std::uint64_t time) {
    OfClass& of = classes_[task.kind->task_class];
    of.tasks++;
    of.with_slo += task.kind->slo.has_value();
    first_ = std::min(first_, time);
    last_ = std::max(last_, time);
}

void Tally::refused(const Generated& load, std::uint64_t) {
    OfClass& of = classes_[load.kind.task_class];
    of.refused++;
    of.with_slo += load.kind.slo.has_value();
}

void Tally::run_started(LiveTask&, LiveTask::Run& run, std::uint64_t) {
    processors_[run.run->processor].runs++;
}

void Tally::run_ended(LiveTask&, LiveTask::Run& run, ovt_coord_status status, std::uint64_t time) {
    OfProcessor& processor = processors_[run.run->processor];
    processor.executed += run.executed;
    processor.failed += status == OVT_COORD_FAILED && run.started;
    last_ = std::max(last_, time);
}

void Tally::ended(LiveTask& task, std::uint64_t time) {
    OfClass& of = classes_[task.kind->task_class];
    const std::uint64_t latency = time - task.coord.arrival_time;
    const bool is_done = task.coord.status == OVT_COORD_DONE;
    of.done += is_done;
    of.failed += task.coord.status == OVT_COORD_FAILED;
    of.cancelled += task.coord.status == OVT_COORD_CANCELLED;
    of.dropped += task.coord.status == OVT_COORD_DROPPED;
    of.retries += task.coord.retries;
    of.within_slo += is_done && task.kind->slo && latency <= *task.kind->slo;
    if (is_done)
        of.latencies.push_back(latency);
    last_ = std::max(last_, time);
}

nlohmann::ordered_json Tally::json() const {
    nlohmann::ordered_json json;
    const std::uint64_t whole = first_ < last_ ? last_ - first_ : 0;
    json["policy"] = scenario_.settings.policy->name;
    json["time_us"] = us(whole);
    for (std::size_t i = 0; i < classes_.size(); i++) {
        const OfClass& of = classes_[i];
        nlohmann::ordered_json row = {{"class", scenario_.task_classes[i]},
                                      {"tasks", of.tasks},
                                      {"refused", of.refused},
                                      {"done", of.done},
                                      {"failed", of.failed},
                                      {"cancelled", of.cancelled},
                                      {"dropped", of.dropped},
                                      {"retries", of.retries}};
        row["per_second"] = whole == 0 ? 0 : static_cast<double>(of.done) / us(whole) * 1e6;
        row["within_slo"] = nullptr;
        if (of.with_slo != 0)
            row["within_slo"] =
                static_cast<double>(of.within_slo) / static_cast<double>(of.with_slo);
        row["latency_us"] = {{"p50", us(percentile(of.latencies, 50))},
                             {"p99", us(percentile(of.latencies, 99))},
                             {"max", us(percentile(of.latencies, 100))}};
        json["classes"].push_back(std::move(row));
    }
    for (std::size_t i = 0; i < processors_.size(); i++) {
        const Processor& processor = scenario_.processors[i];
        const double workers = std::max(1u, processor.described.workers);
        json["processors"].push_back(
            {{"processor", processor.name},
             {"runs", processors_[i].runs},
             {"failed", processors_[i].failed},
             {"busy", whole == 0 ? 0 : us(processors_[i].executed) / us(whole) / workers}});
    }
    return json;
}

std::string Tally::text() const {
    const nlohmann::ordered_json summary = json();
    std::string text = fmt::format("policy {}, {:.3f} ms\n\n", scenario_.settings.policy->name,
                                   summary["time_us"].get<double>() / 1000);
    text +=
        fmt::format("{:<16}{:>8}{:>8}{:>8}{:>9}{:>9}{:>9}{:>11}{:>11}{:>11}\n", "class", "tasks",
                    "done", "dropped", "retries", "done/s", "in SLO", "p50 ms", "p99 ms", "max ms");
    for (const auto& row : summary["classes"]) {
        const auto ms = [&](const char* key) {
            return row["latency_us"][key].get<double>() / 1000;
        };
        text += fmt::format("{:<16}{:>8}{:>8}{:>8}{:>9}{:>9.1f}{:>9}{:>11.3f}{:>11.3f}{:>11.3f}\n",
                            row["class"].get<std::string>(), row["tasks"].get<std::uint64_t>(),
                            row["done"].get<std::uint64_t>(), row["dropped"].get<std::uint64_t>(),
                            row["retries"].get<std::uint64_t>(), row["per_second"].get<double>(),
                            row["within_slo"].is_null()
                                ? "-"
                                : fmt::format("{:.1f} %", 100 * row["within_slo"].get<double>()),
                            ms("p50"), ms("p99"), ms("max"));
    }
    text += fmt::format("\n{:<16}{:>8}{:>8}{:>9}\n", "processor", "runs", "failed", "busy");
    for (const auto& row : summary["processors"])
        text += fmt::format("{:<16}{:>8}{:>8}{:>7.1f} %\n", row["processor"].get<std::string>(),
                            row["runs"].get<std::uint64_t>(), row["failed"].get<std::uint64_t>(),
                            100 * row["busy"].get<double>());
    return text;
}

} // namespace overtake::simulator::processors
