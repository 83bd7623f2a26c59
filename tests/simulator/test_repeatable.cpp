// SPDX-License-Identifier: MIT
//
// One scenario and one seed give the same result, to the byte.
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulated.hpp"
#include "simulator/bundled.hpp"
#include "simulator/simulate.hpp"

namespace overtake::simulator {
namespace {

std::string timeline(const nlohmann::json& document) {
    std::ostringstream out;
    simulate(document, {}, out);
    return out.str();
}

nlohmann::json random_loads() {
    return nlohmann::json::parse(R"({"version": 1, "kind": "task", "cores": 3, "core_limit": 1,
        "seed": 11,
        "models": {"m": {"segments": [{"cpu": 20}, {"bpu": [30, 40]}, {"cpu": 25}, {"bpu": [9]}]},
                   "s": {"segments": [{"bpu": [15]}]}},
        "loads": [{"id": "p", "model": "m", "count": 200, "priority": 4,
                   "arrivals": {"type": "poisson", "mean": 90}},
                  {"id": "l", "model": "s", "count": 200, "priority": 255,
                   "arrivals": {"type": "log_normal", "mean": 60, "sigma": 1}},
                  {"id": "j", "models": ["s", "m"], "count": 200, "process": "q",
                   "arrivals": {"type": "periodic", "period": 100, "jitter": 100}}]})");
}

TEST(Repeatable, TimelinesAreTheSameBytes) {
    const std::string first = timeline(random_loads());
    EXPECT_EQ(timeline(random_loads()), first);
    EXPECT_GT(nlohmann::json::parse(first).at("fcs").size(), 1000u);
}

TEST(Repeatable, AnotherSeedIsAnotherTimeline) {
    nlohmann::json other = random_loads();
    other["seed"] = 12;
    EXPECT_NE(timeline(other), timeline(random_loads()));
}

TEST(Repeatable, ALoadAppendedChangesTheArrivalsOfNoOther) {
    const auto arrivals_of = [](const nlohmann::json& document, const std::string& load) {
        std::vector<std::uint64_t> times;
        const nlohmann::json written = nlohmann::json::parse(timeline(document));
        for (const auto& task : written.at("tasks"))
            if (task.at("id").get<std::string>().starts_with(load + "#"))
                times.push_back(task.at("arrival"));
        return times;
    };
    nlohmann::json longer = random_loads();
    longer["loads"].push_back({{"id", "x"},
                               {"model", "s"},
                               {"count", 50},
                               {"arrivals", {{"type", "poisson"}, {"mean", 10}}}});
    for (const char* load : {"p", "l", "j"}) {
        const auto before = arrivals_of(random_loads(), load);
        EXPECT_EQ(before.size(), 200u);
        EXPECT_EQ(arrivals_of(longer, load), before) << load;
    }
}

TEST(Repeatable, BundledScenariosGiveOneSummary) {
    const std::vector<std::string> names = bundled_scenarios();
    EXPECT_GE(names.size(), 10u);
    for (const std::string& name : names) {
        const std::filesystem::path path = find_scenario(name);
        nlohmann::json document = read_json(path);
        // The first part of a run is enough here.
        if (document.contains("until"))
            document["until"] = document["until"].get<std::uint64_t>() / 20 + 1;
        const Scenario scenario = parse_scenario(document, path.parent_path());
        const std::string first = to_json(simulate(scenario, scenario.seed)).dump();
        EXPECT_EQ(to_json(simulate(scenario, scenario.seed)).dump(), first) << name;
    }
}

} // namespace
} // namespace overtake::simulator
