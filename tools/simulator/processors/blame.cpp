// SPDX-License-Identifier: MIT
#include "simulator/processors/blame.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace overtake::simulator::processors {

ProcessorBlame::ProcessorBlame(const ProcessorScenario& scenario, std::size_t most,
                               const Window& window)
    : scenario_(scenario), most_(most), window_(window), kept_(scenario.task_classes.size()) {
    for (const processors::Processor& processor : scenario.processors)
        waits_.add_processor(processor.name, processor.described.workers);
}

double ProcessorBlame::ms(std::uint64_t time) const {
    return static_cast<double>(time) * static_cast<double>(scenario_.tick_ns) / 1e6;
}

/// Returns the time of the units of `run` on another processor; nothing if that processor may not
/// run the first unit.
std::optional<std::uint64_t> ProcessorBlame::takes(const LiveTask& task, const LiveTask::Run& run,
                                                   std::uint32_t processor) const {
    const Model& model = scenario_.models[task.kind->model];
    const std::size_t classes = scenario_.class_names.size();
    const std::uint64_t units = run.run->units;
    const auto first = static_cast<std::size_t>(__builtin_ctzll(units));
    const std::uint32_t of_class = scenario_.processors[processor].described.class_index;
    const auto time_of = [&](std::size_t unit) { return model.times[unit * classes + of_class]; };
    const bool is_allowed = task.kind->on == 0 || (task.kind->on >> processor & 1) != 0 ||
                            (scenario_.processors[processor].core == 0 &&
                             model.times[first * classes + task.kind->on_class] == 0);
    if (!is_allowed || time_of(first) == 0)
        return std::nullopt;
    std::uint64_t all = 0;
    for (std::uint64_t rest = units; rest != 0; rest &= rest - 1) {
        const std::uint64_t time = time_of(static_cast<std::size_t>(__builtin_ctzll(rest)));
        if (time == 0)
            break; // the rest would have run elsewhere
        all += time;
    }
    return all;
}

void ProcessorBlame::begin(LiveTask& task, const LiveTask::Run& run, std::uint64_t time) {
    waits_.begin(live_.at(&task), task.kind->task_class, run.run->processor, time,
                 [&](std::uint32_t processor) { return takes(task, run, processor); });
}

void ProcessorBlame::end(LiveTask& task, const LiveTask::Run& run, std::uint64_t time) {
    waits_.end(live_.at(&task), task.kind->task_class, run.run->processor, time);
}

void ProcessorBlame::arrived(LiveTask& task, std::uint64_t time) {
    waits_.arrive(live_[&task], time);
}

void ProcessorBlame::fc_started(LiveTask& task, LiveTask::Run& run, bool, std::uint32_t,
                                std::uint64_t time) {
    begin(task, run, time);
}

void ProcessorBlame::fc_ended(LiveTask& task, LiveTask::Run& run, std::uint64_t time) {
    end(task, run, time);
}

void ProcessorBlame::run_started(LiveTask& task, LiveTask::Run& run, std::uint64_t time) {
    if (scenario_.processors[run.run->processor].core == 0)
        begin(task, run, time);
}

void ProcessorBlame::run_ended(LiveTask& task, LiveTask::Run& run, ovt_coord_status,
                               std::uint64_t time) {
    if (scenario_.processors[run.run->processor].core == 0 && run.started)
        end(task, run, time);
}

void ProcessorBlame::out_of_use(std::uint32_t processor, std::uint64_t time) {
    waits_.set_in_use(processor, false, time);
}

void ProcessorBlame::in_use_again(std::uint32_t processor, std::uint64_t time) {
    waits_.set_in_use(processor, true, time);
}

void ProcessorBlame::ended(LiveTask& task, std::uint64_t time) {
    blame::ProcessorWaits::Account& account = live_.at(&task);
    waits_.finish(account, time);
    if (window_.holds(task.coord.arrival_time))
        keep({.id = task.load == LiveTask::not_a_load
                        ? scenario_.listed[task.number].id
                        : fmt::format("{}#{}", scenario_.loads[task.load].arrivals.id, task.number),
              .task_class = task.kind->task_class,
              .arrival = task.coord.arrival_time,
              .latency = time - task.coord.arrival_time,
              .slo = task.kind->slo,
              .status = task.coord.status,
              .retries = task.coord.retries,
              .account = std::move(account)});
    live_.erase(&task);
}

/// Keeps the report if it is among the slowest. Among reports that are as slow, the first are kept.
void ProcessorBlame::keep(Report report) {
    std::vector<Report>& kept = kept_[report.task_class];
    const auto place =
        std::ranges::upper_bound(kept, report.latency, std::greater<>(), &Report::latency);
    if (kept.size() == most_ && place == kept.end())
        return;
    kept.insert(place, std::move(report));
    if (kept.size() > most_)
        kept.pop_back();
}

std::vector<const ProcessorBlame::Report*> ProcessorBlame::worst() const {
    std::vector<const Report*> reports;
    for (const std::vector<Report>& kept : kept_)
        for (const Report& report : kept)
            reports.push_back(&report);
    return reports;
}

std::string ProcessorBlame::sentence_of(const Report& report) const {
    std::string text = fmt::format("{} {:.3f} ms", report.id, ms(report.latency));
    if (report.status != OVT_COORD_DONE)
        text += report.status == OVT_COORD_DROPPED     ? ", dropped"
                : report.status == OVT_COORD_CANCELLED ? ", cancelled"
                                                       : ", failed";
    else if (report.slo && report.latency > *report.slo)
        text += fmt::format(", {:.3f} late", ms(report.latency - *report.slo));
    if (report.retries != 0)
        text += fmt::format(", {} {}", report.retries, report.retries == 1 ? "retry" : "retries");
    return text + ":" +
           waits_.words(report.account, static_cast<double>(scenario_.tick_ns) / 1e6,
                        scenario_.task_classes);
}

std::string ProcessorBlame::text() const {
    std::string text;
    for (const Report* report : worst())
        text += sentence_of(*report) + "\n";
    return text;
}

void ProcessorBlame::add_to(nlohmann::ordered_json& summary) const {
    const auto ns = [&](std::uint64_t time) { return time * scenario_.tick_ns; };
    summary["blame"] = nlohmann::ordered_json::array();
    for (const Report* report : worst())
        summary["blame"].push_back(
            {{"id", report->id},
             {"class", scenario_.task_classes[report->task_class]},
             {"arrival_ns", ns(report->arrival)},
             {"latency_ns", ns(report->latency)},
             {"own_ns", ns(report->account.own)},
             {"sentence", sentence_of(*report)},
             {"parts", waits_.parts(report->account, scenario_.tick_ns, scenario_.task_classes)}});
}

} // namespace overtake::simulator::processors
