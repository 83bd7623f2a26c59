// SPDX-License-Identifier: MIT
#include "simulator/processors/summary.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace overtake::simulator::processors {
namespace {

/// Returns the smallest value that at least `percent` % of the values do not exceed; 0 if there are
/// none.
std::uint64_t percentile(std::vector<std::uint64_t> values, double percent) {
    if (values.empty())
        return 0;
    std::ranges::sort(values);
    const auto rank =
        static_cast<std::size_t>(std::ceil(static_cast<double>(values.size()) * percent / 100));
    return values[std::max<std::size_t>(rank, 1) - 1];
}

} // namespace

Tally::Tally(const ProcessorScenario& scenario, const Window& window)
    : scenario_(scenario), window_(window), classes_(scenario.task_classes.size()),
      processors_(scenario.processors.size()) {}

double Tally::us(std::uint64_t time) const {
    return static_cast<double>(time) * static_cast<double>(scenario_.tick_ns) / 1000;
}

bool Tally::is_counted(const LiveTask& task) const {
    return window_.holds(task.coord.arrival_time);
}

std::uint64_t Tally::from() const {
    return std::min(std::max(first_, window_.from), to());
}

std::uint64_t Tally::to() const {
    return std::min(last_, window_.to);
}

void Tally::arrived(LiveTask& task, std::uint64_t time) {
    first_ = std::min(first_, time);
    last_ = std::max(last_, time);
    if (!window_.holds(time))
        return;
    OfClass& of = classes_[task.kind->task_class];
    of.tasks++;
    of.with_slo += task.kind->slo.has_value();
    if (!of.slo)
        of.slo = task.kind->slo;
}

void Tally::refused(const Generated& load, std::uint64_t time) {
    if (!window_.holds(time))
        return;
    OfClass& of = classes_[load.kind.task_class];
    of.refused++;
    of.with_slo += load.kind.slo.has_value();
    if (!of.slo)
        of.slo = load.kind.slo;
}

void Tally::fc_started(LiveTask&, LiveTask::Run& run, bool high, std::uint32_t,
                       std::uint64_t time) {
    if (!window_.holds(time))
        return;
    OfProcessor& processor = processors_[run.run->processor];
    (high ? processor.fcs_high : processor.fcs_normal)++;
}

void Tally::fc_ended(LiveTask&, LiveTask::Run& run, std::uint64_t time) {
    processors_[run.run->processor].executed += window_.part(run.fc_start, time);
}

void Tally::run_started(LiveTask&, LiveTask::Run& run, std::uint64_t time) {
    processors_[run.run->processor].runs += window_.holds(time);
}

void Tally::run_ended(LiveTask& task, LiveTask::Run& run, ovt_coord_status status,
                      std::uint64_t time) {
    OfProcessor& processor = processors_[run.run->processor];
    if (scenario_.processors[run.run->processor].core != 0) {
        if (is_counted(task))
            classes_[task.kind->task_class].preemptions += run.job.preemptions;
    } else if (run.started) {
        processor.executed += window_.part(run.fc_start, time);
    }
    processor.failed += status == OVT_COORD_FAILED && run.started && window_.holds(time);
    last_ = std::max(last_, time);
}

void Tally::ended(LiveTask& task, std::uint64_t time) {
    last_ = std::max(last_, time);
    if (!is_counted(task))
        return;
    OfClass& of = classes_[task.kind->task_class];
    const std::uint64_t latency = time - task.coord.arrival_time;
    const bool is_done = task.coord.status == OVT_COORD_DONE;
    of.done += is_done;
    of.failed += task.coord.status == OVT_COORD_FAILED;
    of.cancelled += task.coord.status == OVT_COORD_CANCELLED;
    of.dropped += task.coord.status == OVT_COORD_DROPPED;
    of.retries += task.coord.retries;
    of.within_slo += is_done && task.kind->slo && latency <= *task.kind->slo;
    if (!is_done)
        return;
    of.latencies.push_back(latency);
    of.alone += alone(*task.kind);
}

namespace {

/// Keeps the latency of the task that ended last.
class LastLatency : public Observer {
public:
    void ended(LiveTask& task, std::uint64_t time) override {
        latency_ = time - task.coord.arrival_time;
    }
    std::uint64_t latency() const { return latency_; }

private:
    std::uint64_t latency_ = 0;
};

} // namespace

std::uint64_t Tally::alone(const TaskKind& kind) {
    const bool high = kind.priority == OVT_COORD_PRIORITY_HIGH;
    const auto [at, is_new] = alone_.try_emplace({kind.model, kind.on, high}, 0);
    if (!is_new)
        return at->second;
    ProcessorScenario scenario = scenario_;
    scenario.listed = {{.id = "alone", .at = 0, .kind = kind}};
    scenario.listed.front().kind.slo.reset();
    scenario.loads.clear();
    scenario.cancels.clear();
    scenario.events.clear();
    LastLatency last;
    Observer* const observers[] = {&last};
    ProcessorSimulator(scenario, 1, observers).run();
    return at->second = last.latency();
}

namespace {

Percentiles percentiles(const std::vector<std::uint64_t>& latencies) {
    Percentiles of{.p50 = percentile(latencies, 50),
                   .p90 = percentile(latencies, 90),
                   .p99 = percentile(latencies, 99),
                   .p99_9 = percentile(latencies, 99.9),
                   .max = percentile(latencies, 100),
                   .samples = latencies.size()};
    for (const std::uint64_t latency : latencies)
        of.mean += static_cast<double>(latency) / static_cast<double>(latencies.size());
    return of;
}

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

} // namespace

Summary Tally::summary() const {
    Summary summary{};
    summary.tick_ns = scenario_.tick_ns;
    summary.from = from();
    summary.to = to();
    const std::uint64_t whole = summary.to - summary.from;
    std::uint32_t programs = 0;
    for (std::size_t i = 0; i < classes_.size(); i++) {
        const OfClass& of = classes_[i];
        ClassSummary& row = summary.classes.emplace_back();
        row.name = scenario_.task_classes[i];
        row.tick_ns = scenario_.tick_ns;
        row.cancelled = of.cancelled;
        row.dropped = of.dropped + of.refused;
        row.failed = of.failed;
        row.tasks = of.done + of.cancelled + row.dropped + of.failed;
        row.preemptions = of.preemptions;
        row.latency = percentiles(of.latencies);
        row.slo = of.slo;
        if (of.with_slo != 0)
            row.slo_met = share(of.within_slo, of.with_slo);
        row.slo_missed = of.with_slo - of.within_slo;
        if (whole != 0)
            row.throughput = static_cast<double>(of.done) / us(whole) * 1e6;
        if (of.alone == 0)
            continue;
        std::uint64_t sum = 0;
        for (const std::uint64_t latency : of.latencies)
            sum += latency;
        row.turnaround = share(sum, of.alone);
        programs++;
        summary.antt += row.turnaround;
        summary.stp += 1 / row.turnaround;
    }
    if (programs != 0)
        summary.antt /= programs;
    for (std::size_t i = 0; i < processors_.size(); i++) {
        const OfProcessor& of = processors_[i];
        const std::uint64_t workers = std::max(1u, scenario_.processors[i].described.workers);
        summary.cores.push_back({.utilisation = share(of.executed, whole * workers),
                                 .fcs_high = of.fcs_high,
                                 .fcs_normal = of.fcs_normal,
                                 .gap = 0,
                                 .gap_filled = 0,
                                 .name = scenario_.processors[i].name});
        summary.fcs += of.fcs_high + of.fcs_normal;
    }
    return summary;
}

nlohmann::ordered_json Tally::json() const {
    nlohmann::ordered_json json;
    const std::uint64_t whole = to() - from();
    json["policy"] = scenario_.settings.policy->name;
    json["time_us"] = us(whole);
    json["classes"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < classes_.size(); i++) {
        const OfClass& of = classes_[i];
        nlohmann::ordered_json row = {
            {"class", scenario_.task_classes[i]},
            {"tasks", of.tasks},
            {"refused", of.refused},
            {"done", of.done},
            {"failed", of.failed},
            {"cancelled", of.cancelled},
            {"dropped", of.dropped},
            {"unended", of.tasks - of.done - of.failed - of.cancelled - of.dropped},
            {"retries", of.retries}};
        row["per_second"] = whole == 0 ? 0 : static_cast<double>(of.done) / us(whole) * 1e6;
        row["within_slo"] = nullptr;
        if (of.with_slo != 0)
            row["within_slo"] =
                static_cast<double>(of.within_slo) / static_cast<double>(of.with_slo);
        for (const auto& [key, percent] : {std::pair("p50", 50), {"p99", 99}, {"max", 100}}) {
            row["latency_us"][key] = nullptr;
            if (!of.latencies.empty())
                row["latency_us"][key] = us(percentile(of.latencies, percent));
        }
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

namespace {

/// Formats a share with a space before the percent sign.
std::string spaced_share(double share) {
    std::string text = format_share(share);
    return text.insert(text.size() - 1, " ");
}

} // namespace

std::string Tally::text() const {
    const nlohmann::ordered_json summary = json();
    // These columns are shown if any of their counts is not 0.
    std::vector<const char*> counts = {"dropped"};
    for (const char* key : {"failed", "cancelled", "refused", "unended"})
        if (std::ranges::any_of(summary["classes"], [&](const auto& row) { return row[key] != 0; }))
            counts.push_back(key);
    std::string text =
        fmt::format("policy {}, {:.3f} ms\n\n{:<16}{:>8}{:>8}", scenario_.settings.policy->name,
                    summary["time_us"].get<double>() / 1000, "class", "tasks", "done");
    for (const char* key : counts)
        text += fmt::format("{:>{}}", key, std::string_view(key) == "cancelled" ? 10 : 8);
    text += fmt::format("{:>9}{:>9}{:>9}{:>11}{:>11}{:>11}\n", "retries", "done/s", "in SLO",
                        "p50 ms", "p99 ms", "max ms");
    for (const auto& row : summary["classes"]) {
        const auto ms = [&](const char* key) {
            const nlohmann::ordered_json& time = row["latency_us"][key];
            return time.is_null() ? "-" : fmt::format("{:.3f}", time.get<double>() / 1000);
        };
        text += fmt::format("{:<16}{:>8}{:>8}", row["class"].get<std::string>(),
                            row["tasks"].get<std::uint64_t>(), row["done"].get<std::uint64_t>());
        for (const char* key : counts)
            text += fmt::format("{:>{}}", row[key].get<std::uint64_t>(),
                                std::string_view(key) == "cancelled" ? 10 : 8);
        text += fmt::format(
            "{:>9}{:>9.1f}{:>9}{:>11}{:>11}{:>11}\n", row["retries"].get<std::uint64_t>(),
            row["per_second"].get<double>(),
            row["within_slo"].is_null() ? "-" : spaced_share(row["within_slo"].get<double>()),
            ms("p50"), ms("p99"), ms("max"));
    }
    text += fmt::format("\n{:<16}{:>8}{:>8}{:>9}\n", "processor", "runs", "failed", "busy");
    for (const auto& row : summary["processors"])
        text += fmt::format("{:<16}{:>8}{:>8}{:>9}\n", row["processor"].get<std::string>(),
                            row["runs"].get<std::uint64_t>(), row["failed"].get<std::uint64_t>(),
                            spaced_share(row["busy"].get<double>()));
    return text;
}

} // namespace overtake::simulator::processors
