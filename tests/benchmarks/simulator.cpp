// SPDX-License-Identifier: MIT
//
// The number of FCs that the simulator simulates in a second on one core, with all of a summary
// kept.
// FCs per second is the counter items_per_second.
#include <benchmark/benchmark.h>

#include <array>

#include <nlohmann/json.hpp>

#include "simulator/simulate.hpp"

namespace {

using namespace overtake::simulator;
using nlohmann::json;

/// Listed arrivals: HIGH and NORMAL jobs of `fcs` FCs each that keep `cores` cores about full.
json listed(int jobs, int fcs, int cores) {
    json document = {{"version", 1}, {"kind", "fc"}, {"cores", cores}, {"core_limit", 1}};
    auto& list = document["jobs"] = json::array();
    const std::vector<int> durations(static_cast<std::size_t>(fcs), 10);
    for (int i = 0; i < jobs; i++)
        list.push_back({{"id", std::to_string(i)},
                        {"at", static_cast<std::int64_t>(i) * fcs * 10 / cores},
                        {"core", i % cores + 1},
                        {"priority", i % 5 == 0 ? 255 : i % 255},
                        {"fcs", durations}});
    return document;
}

void run(benchmark::State& state, const json& document) {
    const Scenario scenario = parse_scenario(document, ".");
    std::int64_t fcs = 0;
    for (auto _ : state)
        fcs += static_cast<std::int64_t>(simulate(scenario, scenario.seed).fcs);
    state.SetItemsProcessed(fcs);
}

void listed_arrivals(benchmark::State& state) {
    run(state, listed(20'000, static_cast<int>(state.range(0)), static_cast<int>(state.range(1))));
}
BENCHMARK(listed_arrivals)
    ->ArgNames({"fcs", "cores"})
    ->Args({1, 1})
    ->Args({10, 1})
    ->Args({50, 1})
    ->Args({10, 4})
    ->Unit(benchmark::kMillisecond);

void generated_load(benchmark::State& state) {
    const json document = json::parse(R"({
        "version": 1, "kind": "fc", "cores": 4, "core_limit": 2,
        "loads": [
            {"id": "background", "fcs": [10, 10, 10, 10], "count": 100000,
             "arrivals": {"type": "closed_loop", "depth": 8}},
            {"id": "urgent", "fcs": [5, 5, 5, 5], "priority": 255, "count": 100000,
             "arrivals": {"type": "poisson", "mean": 15}}]})");
    run(state, document);
}
BENCHMARK(generated_load)->Unit(benchmark::kMillisecond);

void tasks_with_gaps(benchmark::State& state) {
    const json document = json::parse(R"({
        "version": 1, "kind": "task", "cores": 2, "core_limit": 1,
        "models": {"a": {"segments": [{"cpu": 20}, {"bpu": [50, 50]}, {"cpu": 60}, {"bpu": [50, 50]}]},
                   "b": {"segments": [{"bpu": [30, 30]}]}},
        "loads": [
            {"id": "chain", "model": "a", "process": "p", "count": 50000,
             "arrivals": {"type": "closed_loop", "depth": 6}},
            {"id": "filler", "model": "b", "process": "p", "priority": 9, "count": 50000,
             "arrivals": {"type": "poisson", "mean": 200}},
            {"id": "urgent", "model": "b", "process": "q", "priority": 255, "count": 20000,
             "arrivals": {"type": "periodic", "period": 500}}]})");
    run(state, document);
}
BENCHMARK(tasks_with_gaps)->Unit(benchmark::kMillisecond);

/// Three classes of Poisson arrivals, together three times what the core can do: the queue grows to
/// two thirds of the tasks, each of one FC.
void overloaded_queue(benchmark::State& state) {
    json document = json::parse(R"({
        "version": 1, "kind": "task", "cores": 1, "core_limit": 1,
        "models": {"small": {"segments": [{"bpu": [500]}]},
                   "middle": {"segments": [{"bpu": [1000]}]},
                   "large": {"segments": [{"bpu": [1500]}]}},
        "loads": [
            {"id": "small", "model": "small", "priority": 30,
             "arrivals": {"type": "poisson", "mean": 500}},
            {"id": "middle", "model": "middle", "priority": 20,
             "arrivals": {"type": "poisson", "mean": 1000}},
            {"id": "large", "model": "large", "priority": 10,
             "arrivals": {"type": "poisson", "mean": 1500}}]})");
    for (json& load : document["loads"])
        load["count"] = state.range(0) / 3;
    run(state, document);
}
BENCHMARK(overloaded_queue)
    ->ArgName("tasks")
    ->Arg(10'000)
    ->Arg(30'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
