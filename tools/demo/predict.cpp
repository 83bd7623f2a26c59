// SPDX-License-Identifier: MIT
#include "demo/predict.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <nlohmann/json.hpp>

#include "simulator/bundled.hpp"
#include "simulator/engine.hpp"

namespace overtake::demo {
namespace {

constexpr std::uint64_t ns_per_tick = 1000;

/// Requests as a client would have recorded them; load 0 is the detector's, 1 the large network's.
class Requests : public simulator::Observer {
public:
    void ended(simulator::LiveTask& task, std::uint64_t time) override {
        of_load.at(task.load).push_back(
            {.queued_ns = task.arrival * ns_per_tick,
             .start_ns = task.job.start_ns * ns_per_tick,
             .end_ns = time * ns_per_tick,
             .executed_ns = task.job.executed_ns * ns_per_tick,
             .preemptions = static_cast<std::uint32_t>(task.preemptions),
             .status = 0});
    }

    std::array<std::vector<load::Request>, 2> of_load;
};

nlohmann::json document_of(const Row& row, const Networks& networks, const Load& load) {
    std::string stem = row.name;
    std::ranges::replace(stem, ' ', '-');
    nlohmann::json document = simulator::read_json(simulator::find_scenario("demo-" + stem));
    const auto file = [](const std::filesystem::path& path) {
        return nlohmann::json{{"file", std::filesystem::absolute(path).string()}};
    };
    document["models"]["detector"] = file(networks.detector);
    if (row.large)
        document["models"]["large"] = file(row.split ? networks.large_split : networks.large);
    nlohmann::json& loads = document["loads"];
    loads[0]["count"] = load.requests;
    nlohmann::json& arrivals = loads[0]["arrivals"];
    arrivals["period"] = load.period_us;
    // Requests keep their order, so jitter cannot be more than the period.
    arrivals["jitter"] = std::min(arrivals.value("jitter", 0u), load.period_us);
    if (row.large) {
        loads[1]["arrivals"]["depth"] = large_in_flight;
        loads[1]["until"] = static_cast<std::uint64_t>(load.requests) * load.period_us;
        loads[1]["arrivals"]["think"] = load.turnaround_us;
    }
    return document;
}

} // namespace

Figures predict(const Row& row, const Networks& networks, const Load& load) {
    const simulator::Scenario scenario =
        simulator::parse_scenario(document_of(row, networks, load), ".");
    Requests requests;
    const std::array<simulator::Observer*, 1> observers = {&requests};
    simulator::Engine(scenario, scenario.seed, observers).run();
    for (auto& list : requests.of_load)
        std::ranges::sort(list, {}, &load::Request::queued_ns);
    return summarise(requests.of_load[0], requests.of_load[1], predicted_cost_ns(networks.large));
}

std::uint64_t predicted_cost_ns(const std::filesystem::path& model) {
    const nlohmann::json document = {
        {"version", 1},
        {"kind", "fc"},
        {"cores", 1},
        {"models", {{"it", {{"file", std::filesystem::absolute(model).string()}}}}},
        {"jobs", {{{"id", "it"}, {"at", 0}, {"model", "it"}}}}};
    const simulator::Scenario scenario = simulator::parse_scenario(document, ".");
    return scenario.listed.front().kind.chain->time * ns_per_tick;
}

} // namespace overtake::demo
