// SPDX-License-Identifier: MIT
#include "observe/blame/requests.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>

#include <fmt/format.h>

namespace overtake::blame {

namespace {

using watch::ProcessorEvent;
using watch::ProcessorEventType;

constexpr double ms_per_ns = 1e-6;

bool is_in_use(watch::ProcessorState state) {
    return state == watch::ProcessorState::ok || state == watch::ProcessorState::throttled;
}

std::string outcome_text(std::int32_t status) {
    if (status == 0)
        return "";
    return status == -ETIME ? ", dropped" : status == -ECANCELED ? ", cancelled" : ", failed";
}

/// Hashes a model and some of its units to one number.
std::uint64_t piece_of(std::uint64_t model, std::uint64_t units) {
    return (model ^ units * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;
}

} // namespace

Requests::Engine* Requests::engine_of(const ProcessorEvent& event) {
    const Key key{event.pid, event.engine};
    const auto found = engines_.find(key);
    if (found != engines_.end())
        return &found->second;
    // Each event of an engine, except arrivals, follows an event about the state of a processor.
    if (event.type != ProcessorEventType::processor &&
        event.type != ProcessorEventType::request_arrive)
        return nullptr;
    if (engines_.size() >= most_engines) {
        dropped_++;
        return nullptr;
    }
    return &engines_[key];
}

void Requests::add(const ProcessorEvent& event) {
    const bool is_gone =
        event.type == ProcessorEventType::processor && event.state == watch::ProcessorState::gone;
    if (is_gone) {
        if (const auto engine = engines_.find({event.pid, event.engine}); engine != engines_.end())
            forget_engine(engine);
        return;
    }
    Engine* const engine = engine_of(event);
    if (!engine)
        return;
    const std::uint64_t time = engine->last_ns = std::max(engine->last_ns, event.time_ns);
    const auto request = engine->requests.find(event.task);
    switch (event.type) {
    case ProcessorEventType::processor:
        see_processor(*engine, event, time);
        return;
    case ProcessorEventType::request_arrive:
        arrive(*engine, event, time);
        return;
    case ProcessorEventType::request_work:
        if (request != engine->requests.end())
            engine->waits.begin(request->second.account, 0, ProcessorWaits::nowhere, time, {});
        return;
    case ProcessorEventType::request_worked:
        if (request != engine->requests.end() && request->second.account.executing != 0)
            engine->waits.end(request->second.account, 0, ProcessorWaits::nowhere, time);
        return;
    case ProcessorEventType::run_dispatch:
        dispatch(*engine, event, time);
        return;
    case ProcessorEventType::run_end:
        end_run(*engine, event, time);
        return;
    case ProcessorEventType::request_end:
        end(*engine, event, time);
        return;
    }
}

void Requests::see_processor(Engine& engine, const ProcessorEvent& event, std::uint64_t time) {
    while (engine.processors.size() <= event.processor) {
        engine.waits.add_processor(
            engine.processors.size() == event.processor ? event.name : "another", 1, time);
        engine.processors.emplace_back();
    }
    engine.waits.describe(event.processor, event.name, event.workers);
    Processor& processor = engine.processors[event.processor];
    processor.workers = std::max(1u, event.workers);
    if (processor.in_use != is_in_use(event.state)) {
        processor.in_use = !processor.in_use;
        engine.waits.set_in_use(event.processor, processor.in_use, time);
    }
    // The processor has no unfinished runs, so the ends of the runs here were not reported.
    while (event.unfinished == 0 && !processor.runs.empty())
        stop_run(engine, event.processor, processor.runs.begin(), time);
}

std::uint32_t Requests::class_of(Engine& engine, std::uint64_t model, std::uint32_t pid) {
    const auto known = engine.class_of_model.find(model);
    if (known != engine.class_of_model.end())
        return known->second;
    if (engine.classes.size() >= most_models)
        return 0;
    const auto number = static_cast<std::uint32_t>(engine.classes.size());
    engine.classes.push_back(name_(model, pid));
    engine.class_of_model[model] = number;
    return number;
}

void Requests::arrive(Engine& engine, const ProcessorEvent& event, std::uint64_t time) {
    if (const auto other = engine.requests.find(event.task); other != engine.requests.end()) {
        engine.requests.erase(other); // the event of its end was lost
        live_--;
    }
    if (live_ >= most_requests) {
        dropped_++;
        return;
    }
    live_++;
    Request& request = engine.requests[event.task];
    request.model = event.model;
    request.of_class = class_of(engine, event.model, event.pid);
    request.high = event.priority == 255;
    request.arrival_ns = time;
    engine.waits.arrive(request.account, time);
}

void Requests::dispatch(Engine& engine, const ProcessorEvent& event, std::uint64_t time) {
    if (event.processor >= engine.processors.size())
        return;
    Processor& processor = engine.processors[event.processor];
    if (processor.runs.size() >= most_runs)
        return;
    const auto request = engine.requests.find(event.task);
    const bool is_known = request != engine.requests.end();
    const Run run{.task = event.task,
                  .number = event.run,
                  .of_class = is_known ? request->second.of_class : 0,
                  .high = is_known && request->second.high,
                  .units = event.units,
                  .able = event.able};
    auto place = processor.runs.end();
    if (run.high)
        place = std::ranges::find_if(
            processor.runs, [](const Run& other) { return !other.executes && !other.high; });
    processor.runs.insert(place, run);
    if (is_known && (engine.takes.size() < most_takes))
        engine.takes[{piece_of(request->second.model, event.units), event.processor}] =
            event.expected_ns;
    begin_runs(engine, event.processor, time);
}

/// Begins as many runs as the processor has workers for.
void Requests::begin_runs(Engine& engine, std::uint32_t number, std::uint64_t time) {
    Processor& processor = engine.processors[number];
    std::uint32_t executing = 0;
    for (Run& run : processor.runs) {
        if (executing++ == processor.workers)
            break;
        if (run.executes)
            continue;
        run.executes = true;
        const auto request = engine.requests.find(run.task);
        if (request == engine.requests.end()) {
            engine.waits.occupy(number, run.of_class, time);
            continue;
        }
        const std::uint64_t piece = piece_of(request->second.model, run.units);
        engine.waits.begin(request->second.account, run.of_class, number, time,
                           [&](std::uint32_t other) -> std::optional<std::uint64_t> {
                               if ((run.able >> other & 1) == 0)
                                   return std::nullopt;
                               const auto known = engine.takes.find({piece, other});
                               return known == engine.takes.end() ? 0 : known->second;
                           });
    }
}

void Requests::stop_run(Engine& engine, std::uint32_t processor, std::list<Run>::iterator run,
                        std::uint64_t time) {
    if (run->executes) {
        const auto request = engine.requests.find(run->task);
        if (request != engine.requests.end() && request->second.account.executing != 0)
            engine.waits.end(request->second.account, run->of_class, processor, time);
        else
            engine.waits.release(processor, run->of_class, time);
    }
    engine.processors[processor].runs.erase(run);
    begin_runs(engine, processor, time);
}

void Requests::end_run(Engine& engine, const ProcessorEvent& event, std::uint64_t time) {
    if (event.processor >= engine.processors.size())
        return;
    auto& runs = engine.processors[event.processor].runs;
    const auto run = std::ranges::find_if(
        runs, [&](const Run& of) { return of.task == event.task && of.number == event.run; });
    if (run != runs.end())
        stop_run(engine, event.processor, run, time);
}

void Requests::end(Engine& engine, const ProcessorEvent& event, std::uint64_t time) {
    const auto found = engine.requests.find(event.task);
    if (found == engine.requests.end())
        return; // the request arrived before the first event
    Request& request = found->second;
    const bool is_whole = request.is_told && request.account.executing == 0;
    engine.waits.finish(request.account, time);
    const std::uint64_t latency = time - request.arrival_ns;
    const std::string owner = name_(request.model, event.pid);
    if (is_whole) {
        std::string text =
            fmt::format("{} {:.3f} ms{}", owner, static_cast<double>(latency) * ms_per_ns,
                        outcome_text(event.status));
        if (event.retries != 0)
            text += fmt::format(", {} {}", event.retries, event.retries == 1 ? "retry" : "retries");
        text += ":" + engine.waits.words(request.account, ms_per_ns, engine.classes);
        nlohmann::ordered_json json{
            {"name", owner},
            {"latency_ns", latency},
            {"own_ns", request.account.own},
            {"status", event.status},
            {"retries", event.retries},
            {"sentence", text},
            {"parts", engine.waits.parts(request.account, 1, engine.classes)}};
        keep(owner, {latency, std::move(text), std::move(json)});
    }
    engine.requests.erase(found);
    live_--;
}

/// Keeps the report if it is among the slowest. Among reports that are as slow, the first are kept.
void Requests::keep(const std::string& owner, Report report) {
    if (!kept_.contains(owner) && kept_.size() >= most_owners) {
        dropped_++;
        return;
    }
    std::vector<Report>& kept = kept_[owner];
    const auto place =
        std::ranges::upper_bound(kept, report.latency_ns, std::greater<>(), &Report::latency_ns);
    if ((kept.size() == most_ || reports_ >= most_reports) && place == kept.end())
        return;
    kept.insert(place, std::move(report));
    reports_++;
    if (kept.size() > most_ || reports_ > most_reports) {
        kept.pop_back();
        reports_--;
    }
}

void Requests::lost() {
    for (auto& [key, engine] : engines_)
        for (auto& [address, request] : engine.requests)
            request.is_told = false;
}

std::vector<std::uint32_t> Requests::processes() const {
    std::set<std::uint32_t> pids;
    for (const auto& [key, engine] : engines_)
        pids.insert(key.first);
    return {pids.begin(), pids.end()};
}

void Requests::forget_engine(std::map<Key, Engine>::iterator engine) {
    live_ -= engine->second.requests.size();
    engines_.erase(engine);
}

void Requests::forget(const std::set<std::uint32_t>& pids) {
    for (auto engine = engines_.begin(); engine != engines_.end();) {
        const auto here = engine++;
        if (pids.contains(here->first.first))
            forget_engine(here);
    }
}

std::vector<std::string> Requests::lines() const {
    std::vector<std::string> lines;
    for (const auto& [owner, reports] : kept_)
        for (const Report& report : reports)
            lines.push_back(report.sentence);
    return lines;
}

nlohmann::ordered_json Requests::to_json() const {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto& [owner, reports] : kept_)
        for (const Report& report : reports)
            all.push_back(report.json);
    return all;
}

} // namespace overtake::blame
