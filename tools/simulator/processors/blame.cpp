// SPDX-License-Identifier: MIT
#include "simulator/processors/blame.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace overtake::simulator::processors {

ProcessorBlame::ProcessorBlame(const ProcessorScenario& scenario, std::size_t most,
                               const Window& window)
    : scenario_(scenario), most_(most), window_(window), processors_(scenario.processors.size()),
      kept_(scenario.task_classes.size()) {
    for (Processor& processor : processors_) {
        processor.clock.busy.resize(kept_.size());
        processor.executing.resize(kept_.size());
    }
}

double ProcessorBlame::ms(std::uint64_t time) const {
    return static_cast<double>(time) * static_cast<double>(scenario_.tick_ns) / 1e6;
}

bool ProcessorBlame::is_idle(std::uint32_t processor) const {
    const std::uint32_t workers = std::max(1u, scenario_.processors[processor].described.workers);
    return processors_[processor].in_use && processors_[processor].executing_all < workers;
}

/// What it did since the last time.
void ProcessorBlame::update(std::uint32_t number, std::uint64_t time) {
    Processor& processor = processors_[number];
    const std::uint64_t passed = time - std::exchange(processor.updated, time);
    for (std::size_t i = 0; i < processor.executing.size(); i++)
        processor.clock.busy[i] += passed * processor.executing[i];
    if (is_idle(number))
        processor.clock.idle += passed;
}

void ProcessorBlame::begin_wait(Live& live, std::uint64_t time) {
    live.since = time;
    live.clocks.clear();
    for (std::uint32_t i = 0; i < processors_.size(); i++) {
        update(i, time);
        live.clocks.push_back(processors_[i].clock);
    }
}

/// The one that was idle for longest of those that have at least the first unit.
ProcessorBlame::Other ProcessorBlame::other_for(const Live& live, const LiveTask& task,
                                                const LiveTask::Run& run) const {
    const Model& model = scenario_.models[task.kind->model];
    const std::size_t classes = scenario_.class_names.size();
    const std::uint64_t units = run.run->units;
    const auto first = static_cast<std::size_t>(__builtin_ctzll(units));
    Other best;
    for (std::uint32_t q = 0; q < processors_.size(); q++) {
        const std::uint32_t of_class = scenario_.processors[q].described.class_index;
        const auto time_of = [&](std::size_t unit) {
            return model.times[unit * classes + of_class];
        };
        const bool is_allowed = task.kind->on == 0 || (task.kind->on >> q & 1) != 0 ||
                                (scenario_.processors[q].core == 0 &&
                                 model.times[first * classes + task.kind->on_class] == 0);
        const std::uint64_t idle = processors_[q].clock.idle - live.clocks[q].idle;
        if (q == run.run->processor || !is_allowed || time_of(first) == 0 || idle <= best.idle)
            continue;
        best = {q, idle, 0};
        for (std::uint64_t rest = units; rest != 0; rest &= rest - 1) {
            const std::uint64_t time = time_of(static_cast<std::size_t>(__builtin_ctzll(rest)));
            if (time == 0)
                break; // the rest would have gone on elsewhere
            best.takes += time;
        }
    }
    return best;
}

/// `run` is what begins; null: the task ends.
void ProcessorBlame::end_wait(Live& live, const LiveTask& task, const LiveTask::Run* run,
                              std::uint64_t time) {
    if (live.since == time)
        return;
    for (std::uint32_t i = 0; i < processors_.size(); i++)
        update(i, time);
    Part& part = live.parts[run != nullptr ? run->run->processor : nowhere];
    part.time += time - live.since;
    if (run == nullptr)
        return;
    const std::uint32_t number = run->run->processor;
    part.busy.resize(kept_.size());
    for (std::size_t i = 0; i < kept_.size(); i++)
        part.busy[i] += processors_[number].clock.busy[i] - live.clocks[number].busy[i];
    const Other other = other_for(live, task, *run);
    if (other.idle > part.other.idle)
        part.other = other;
}

void ProcessorBlame::begin_executing(LiveTask& task, const LiveTask::Run& run, std::uint64_t time) {
    Live& live = live_.at(&task);
    if (live.executing++ == 0) {
        end_wait(live, task, &run, time);
        live.since = time;
    }
    update(run.run->processor, time);
    processors_[run.run->processor].executing[task.kind->task_class]++;
    processors_[run.run->processor].executing_all++;
}

void ProcessorBlame::end_executing(LiveTask& task, const LiveTask::Run& run, std::uint64_t time) {
    Live& live = live_.at(&task);
    update(run.run->processor, time);
    processors_[run.run->processor].executing[task.kind->task_class]--;
    processors_[run.run->processor].executing_all--;
    if (--live.executing != 0)
        return;
    live.own += time - live.since;
    begin_wait(live, time);
}

void ProcessorBlame::arrived(LiveTask& task, std::uint64_t time) {
    Live& live = live_[&task];
    live = {};
    begin_wait(live, time);
}

void ProcessorBlame::fc_started(LiveTask& task, LiveTask::Run& run, bool, std::uint32_t,
                                std::uint64_t time) {
    begin_executing(task, run, time);
}

void ProcessorBlame::fc_ended(LiveTask& task, LiveTask::Run& run, std::uint64_t time) {
    end_executing(task, run, time);
}

void ProcessorBlame::run_started(LiveTask& task, LiveTask::Run& run, std::uint64_t time) {
    if (scenario_.processors[run.run->processor].core == 0)
        begin_executing(task, run, time);
}

void ProcessorBlame::run_ended(LiveTask& task, LiveTask::Run& run, ovt_coord_status,
                               std::uint64_t time) {
    if (scenario_.processors[run.run->processor].core == 0 && run.started)
        end_executing(task, run, time);
}

void ProcessorBlame::out_of_use(std::uint32_t processor, std::uint64_t time) {
    update(processor, time);
    processors_[processor].in_use = false;
}

void ProcessorBlame::in_use_again(std::uint32_t processor, std::uint64_t time) {
    update(processor, time);
    processors_[processor].in_use = true;
}

void ProcessorBlame::ended(LiveTask& task, std::uint64_t time) {
    Live& live = live_.at(&task);
    end_wait(live, task, nullptr, time);
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
              .own = live.own,
              .parts = std::move(live.parts)});
    live_.erase(&task);
}

/// Of several as slow the first.
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
    text += ":";
    for (const auto& [processor, part] : report.parts) {
        if (processor == nowhere) {
            text += fmt::format(" {:.3f} without a processor;", ms(part.time));
            continue;
        }
        text += fmt::format(" {:.3f} for {}", ms(part.time), scenario_.processors[processor].name);
        std::vector<std::string> names;
        for (std::size_t i = 0; i < part.busy.size(); i++)
            if (part.busy[i] != 0)
                names.push_back(scenario_.task_classes[i]);
        if (!names.empty())
            text += fmt::format(" (busy with {})", fmt::join(names, ", "));
        if (part.other.processor != nowhere)
            text += fmt::format(", could have run on {} (idle for {:.3f}, takes {:.3f})",
                                scenario_.processors[part.other.processor].name,
                                ms(part.other.idle), ms(part.other.takes));
        text += ";";
    }
    return text + fmt::format(" {:.3f} own", ms(report.own));
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
    for (const Report* report : worst()) {
        nlohmann::ordered_json parts = nlohmann::ordered_json::array();
        for (const auto& [processor, part] : report->parts) {
            nlohmann::ordered_json& json = parts.emplace_back();
            json["processor"] = nullptr;
            json["ns"] = ns(part.time);
            if (processor == nowhere)
                continue;
            json["processor"] = scenario_.processors[processor].name;
            json["busy_ns"] = nlohmann::ordered_json::object();
            for (std::size_t i = 0; i < part.busy.size(); i++)
                if (part.busy[i] != 0)
                    json["busy_ns"][scenario_.task_classes[i]] = ns(part.busy[i]);
            if (part.other.processor != nowhere)
                json["other"] = {{"processor", scenario_.processors[part.other.processor].name},
                                 {"idle_ns", ns(part.other.idle)},
                                 {"takes_ns", ns(part.other.takes)}};
        }
        summary["blame"].push_back({{"id", report->id},
                                    {"class", scenario_.task_classes[report->task_class]},
                                    {"arrival_ns", ns(report->arrival)},
                                    {"latency_ns", ns(report->latency)},
                                    {"own_ns", ns(report->own)},
                                    {"sentence", sentence_of(*report)},
                                    {"parts", parts}});
    }
}

} // namespace overtake::simulator::processors
