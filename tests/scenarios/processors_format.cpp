// SPDX-License-Identifier: MIT
#include "processors_format.hpp"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

namespace overtake::test::processors {

using nlohmann::json;

Time ceil_div(Time a, Time b) {
    return a / b + (a % b != 0 ? 1 : 0);
}

Time half_up(__int128 a, __int128 b) {
    return static_cast<Time>((2 * a + b) / (2 * b));
}

namespace {

Policy policy_from(const std::string& name) {
    static const std::map<std::string, Policy> policies = {
        {"priority", Policy::priority},
        {"fixed", Policy::fixed},
        {"round-robin", Policy::round_robin},
        {"shortest-latency", Policy::shortest_latency},
        {"heft", Policy::heft},
        {"heft-reserved", Policy::heft_reserved},
        {"least-slack", Policy::least_slack},
    };
    return policies.at(name);
}

Drop drop_from(const std::string& name) {
    static const std::map<std::string, Drop> drops = {
        {"never", Drop::never}, {"late", Drop::late}, {"predicted", Drop::predicted}};
    return drops.at(name);
}

std::vector<Processor> processors_from(const json& entries) {
    std::vector<Processor> processors;
    unsigned cores_so_far = 0;
    for (const json& entry : entries) {
        Processor processor;
        processor.entry = entry.at("name");
        processor.name = processor.entry;
        processor.class_name = entry.at("class");
        processor.core_limit = entry.value("core_limit", std::size_t{0});
        processor.depth = entry.value("depth", std::size_t{1});
        processor.overhead = entry.value("overhead", Time{0});
        if (entry.contains("workers")) {
            processor.pool = true;
            processor.workers = entry.at("workers");
            processors.push_back(processor);
            continue;
        }
        const unsigned cores = entry.at("cores");
        for (unsigned core = 1; core <= cores; core++) {
            if (cores > 1)
                processor.name = processor.entry + "." + std::to_string(core);
            processor.core_number = ++cores_so_far;
            processors.push_back(processor);
        }
    }
    return processors;
}

/// Returns the chains: in a chain, each unit has one predecessor, which has no other successor.
std::vector<std::vector<std::size_t>> chains_of(const std::vector<Unit>& units) {
    std::vector<std::vector<std::size_t>> chains;
    for (std::size_t unit = 0; unit < units.size(); unit++) {
        const std::vector<std::size_t>& before = units[unit].predecessors;
        if (before.size() != 1 || units[before[0]].successors.size() != 1) {
            chains.push_back({unit});
            continue;
        }
        const auto chain = std::ranges::find_if(
            chains, [&](const auto& candidate) { return candidate.back() == before[0]; });
        chain->push_back(unit);
    }
    return chains;
}

Model model_from(const json& file) {
    Model model;
    model.input = file.value("input", Time{0});
    if (file.contains("measured"))
        model.measured = file.at("measured").get<std::map<std::string, Time>>();
    for (const json& entry : file.at("units")) {
        Unit unit;
        for (const auto& [class_name, time] : entry.at("time").items())
            unit.time[class_name] = time.is_array() ? time.get<std::vector<Time>>()
                                                    : std::vector<Time>{time.get<Time>()};
        unit.bytes = entry.value("bytes", Time{0});
        unit.ops = entry.value("ops", Time{0});
        const std::size_t number = model.units.size();
        if (entry.contains("after"))
            unit.predecessors = entry.at("after").get<std::vector<std::size_t>>();
        else if (number > 0)
            unit.predecessors = {number - 1};
        for (const std::size_t before : unit.predecessors)
            model.units[before].successors.push_back(number);
        model.units.push_back(unit);
    }
    model.chains = chains_of(model.units);
    return model;
}

Task task_from(const json& entry, const std::map<std::string, std::string>& map) {
    Task task;
    task.id = entry.at("id");
    task.at = entry.at("at");
    task.model = entry.at("model");
    task.priority = entry.value("priority", 0u);
    task.custom_id = entry.value("custom_id", std::int64_t{0});
    if (entry.contains("on"))
        task.on = entry.at("on");
    else if (map.contains(task.model))
        task.on = map.at(task.model);
    if (entry.contains("slo"))
        task.deadline = task.at + entry.at("slo").get<Time>();
    return task;
}

Event event_from(const json& entry, const std::vector<Processor>& processors) {
    Event event;
    event.at = entry.at("at");
    const auto named =
        std::ranges::find(processors, entry.at("processor").get<std::string>(), &Processor::name);
    event.processor = static_cast<std::size_t>(named - processors.begin());
    const std::string kind = entry.at("event");
    event.kind = kind == "fail"      ? Event::Kind::fail
                 : kind == "recover" ? Event::Kind::recover
                                     : Event::Kind::throttle;
    event.factor = entry.value("factor", Time{100});
    return event;
}

} // namespace

Scenario scenario_from(const json& file) {
    Scenario scenario;
    scenario.policy = policy_from(file.value("policy", "priority"));
    scenario.drop = drop_from(file.value("drop", "never"));
    scenario.window = file.value("window", std::size_t{8});
    scenario.smoothing = file.value("smoothing", Time{10});
    scenario.retry_after = file.value("retry_after", Time{100000});
    scenario.processors = processors_from(file.at("processors"));
    for (const json& rate : file.value("rates", json::array())) {
        const std::string one = rate.at(0);
        const std::string other = rate.at(1);
        scenario.rates[{one, other}] = scenario.rates[{other, one}] = rate.at(2);
    }
    for (const auto& [name, model] : file.at("models").items())
        scenario.models[name] = model_from(model);
    const auto map = file.value("map", std::map<std::string, std::string>{});
    for (const json& entry : file.at("tasks"))
        scenario.tasks.push_back(task_from(entry, map));
    for (const json& entry : file.value("events", json::array()))
        scenario.events.push_back(event_from(entry, scenario.processors));
    for (const json& entry : file.value("cancels", json::array())) {
        const auto task =
            std::ranges::find(scenario.tasks, entry.at("id").get<std::string>(), &Task::id);
        scenario.cancels.push_back(
            {entry.at("at"), static_cast<std::size_t>(task - scenario.tasks.begin())});
    }
    return scenario;
}

bool Scenario::can_run(const Task& task, std::size_t unit, std::size_t number) const {
    const Processor& processor = processors[number];
    const auto& time = model_of(task).units[unit].time;
    if (!time.contains(processor.class_name))
        return false;
    if (!task.on || task.on == processor.name || task.on == processor.entry)
        return true;
    const auto named = std::ranges::find_if(processors, [&](const Processor& candidate) {
        return task.on == candidate.name || task.on == candidate.entry;
    });
    return processor.pool && !time.contains(named->class_name);
}

Time Scenario::move(const Unit& unit, std::size_t from, std::size_t to) const {
    const auto rate = rates.find({processors[from].entry, processors[to].entry});
    return rate == rates.end() ? 0 : ceil_div(unit.bytes, rate->second);
}

std::vector<std::size_t> Scenario::arrival_order() const {
    std::vector<std::size_t> order(tasks.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t task) { return tasks[task].at; });
    return order;
}

} // namespace overtake::test::processors
