// SPDX-License-Identifier: MIT
//
// Networks of units on several processors: the shipped coordinator and firmware, in the simulator,
// give the examples' timelines, and those of an oracle that was written from the rules alone.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "examples.hpp"
#include "overtake/error.hpp"
#include "processors_oracle.hpp"
#include "random_processors.hpp"
#include "simulator/processors/summary.hpp"
#include "simulator/simulate.hpp"

namespace overtake::test {
namespace {

nlohmann::json simulated(const nlohmann::json& scenario) {
    std::ostringstream out;
    simulator::simulate(scenario, {}, out);
    return nlohmann::json::parse(out.str());
}

nlohmann::json read(const std::string& path) {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
}

TEST(ProcessorScenario, ExamplesHaveTheirTimelines) {
    for (const std::string& name : processors_examples())
        EXPECT_EQ(simulated(read(processors_example_file(name + ".json"))),
                  read(processors_example_file(name + ".expected.json")))
            << name;
    EXPECT_GE(processors_examples().size(), 21u);
}

/// Scenarios with numbers so large that a product wraps, and cases that no random scenario has.
TEST(ProcessorScenario, CornersHaveTheTimelinesOfTheOracle) {
    int corners = 0;
    for (const auto& entry : std::filesystem::directory_iterator(OVERTAKE_PROCESSOR_CORNERS)) {
        const nlohmann::json scenario = read(entry.path().string());
        EXPECT_EQ(simulated(scenario), processors_timeline(scenario)) << entry.path();
        corners++;
    }
    EXPECT_GE(corners, 3);
}

/// Units of pieces whose times are too large to be counted run on processors that support them.
TEST(ProcessorScenario, TimesBeyondCountingKeepUnitsWhereTheyRun) {
    constexpr std::uint64_t most = std::uint64_t{1} << 40;
    nlohmann::json units;
    for (int i = 0; i < 9; i++)
        units.push_back({{"time", {{i % 2 == 0 ? "npu" : "cpu", 1}}}, {"ops", i == 0 ? 1 : most}});
    const nlohmann::json timeline =
        simulated({{"version", 1},
                   {"kind", "task"},
                   {"processors",
                    {{{"name", "npu"}, {"class", "npu"}, {"cores", 1}},
                     {{"name", "cpu"}, {"class", "cpu"}, {"workers", 1}}}},
                   {"models", {{"M", {{"units", units}, {"measured", {{"npu", most}}}}}}},
                   {"tasks", {{{"id", "a"}, {"at", 0}, {"model", "M"}}}}});
    ASSERT_EQ(timeline["runs"].size(), 9u);
    for (std::size_t i = 0; i < 9; i++)
        EXPECT_EQ(timeline["runs"][i]["processor"], i % 2 == 0 ? "npu" : "cpu") << i;
}

nlohmann::json one_core_with_load(int think) {
    return {{"version", 1},
            {"kind", "task"},
            {"drop", "predicted"},
            {"processors", {{{"name", "npu"}, {"class", "npu"}, {"cores", 1}}}},
            {"models", {{"M", {{"units", {{{"time", {{"npu", 100}}}}}}}}}},
            {"loads",
             {{{"id", "l"},
               {"model", "M"},
               {"slo", 50},
               {"arrivals", {{"type", "closed_loop"}, {"depth", 1}, {"think", think}}},
               {"until", 1000}}}}};
}

TEST(ProcessorScenario, ALoadThatIsDroppedAsItArrivesWithoutEndIsRefused) {
    EXPECT_THROW(simulated(one_core_with_load(0)), Error);
    EXPECT_EQ(simulated(one_core_with_load(100))["tasks"].size(), 10u);
}

/// Empty lists mean no events, no cancels, and moves that take no time.
TEST(ProcessorScenario, ListsMayBeEmpty) {
    nlohmann::json scenario = {{"version", 1},
                               {"kind", "task"},
                               {"processors", {{{"name", "npu"}, {"class", "npu"}, {"cores", 1}}}},
                               {"models", {{"M", {{"units", {{{"time", {{"npu", 100}}}}}}}}}},
                               {"tasks", {{{"id", "a"}, {"at", 0}, {"model", "M"}}}}};
    const nlohmann::json expected = simulated(scenario);
    for (const char* list : {"rates", "events", "cancels"})
        scenario[list] = nlohmann::json::array();
    EXPECT_EQ(simulated(scenario), expected);
    scenario["tasks"] = nlohmann::json::array();
    EXPECT_EQ(simulated(scenario)["tasks"], nlohmann::json::array());
}

/// Trials of a processor that never recovers end with the scenario.
TEST(ProcessorScenario, TrialsWithoutARecoveryAreNotWaitedFor) {
    const nlohmann::json scenario = {
        {"version", 1},
        {"kind", "task"},
        {"retry_after", 1},
        {"processors", {{{"name", "npu"}, {"class", "npu"}, {"cores", 2}}}},
        {"models", {{"M", {{"units", {{{"time", {{"npu", 100}}}}}}}}}},
        {"tasks", {{{"id", "a"}, {"at", 0}, {"model", "M"}}}},
        {"events",
         {{{"at", 0}, {"processor", "npu.1"}, {"event", "fail"}},
          {{"at", 1ll << 40}, {"processor", "npu.2"}, {"event", "throttle"}, {"factor", 200}}}}};
    EXPECT_EQ(simulated(scenario)["tasks"][0]["end"], 100);
}

TEST(ProcessorSummary, RequestsThatNeverEndMissTheirDeadline) {
    const auto scenario = simulator::processors::parse_processor_scenario(
        {{"version", 1},
         {"kind", "task"},
         {"processors", {{{"name", "npu"}, {"class", "npu"}, {"cores", 1}}}},
         {"models", {{"M", {{"units", {{{"time", {{"npu", 100}}}}}}}}}},
         {"tasks",
          {{{"id", "x"}, {"at", 0}, {"model", "M"}, {"slo", 1000}},
           {{"id", "y"}, {"at", 100}, {"model", "M"}, {"slo", 1000}}}},
         {"events", {{{"at", 150}, {"processor", "npu"}, {"event", "fail"}}}}},
        {});
    simulator::processors::Tally tally(scenario);
    simulator::processors::Observer* const observers[] = {&tally};
    simulator::processors::ProcessorSimulator(scenario, 1, observers).run();
    EXPECT_EQ(tally.json()["classes"][0]["within_slo"], 0.5);
}

/// Situations of the scheduler tests of Band (mrsnu/band, band/test/scheduler_test.cc): the
/// requests that are dispatched in the instant in which all arrive, and their order.
struct Situation {
    const char* name;
    const char* policy;
    int window;
    int workers;
    std::vector<int> busy;      ///< workers that are busy already
    std::vector<int> latencies; ///< latency of each request, on any worker
    std::vector<int> slos;      ///< SLO of each request; empty: none
    std::vector<int> targets;   ///< worker of each request; empty: any worker
    std::vector<int> map;       ///< worker of each model; empty: none
    std::vector<int> dispatched;
    bool in_any_order;
};

nlohmann::json scenario_of(const Situation& situation) {
    const auto worker = [](int number) { return "w" + std::to_string(number); };
    const auto request = [](int number) { return "r" + std::to_string(number); };
    nlohmann::json scenario = {{"version", 1},
                               {"kind", "task"},
                               {"policy", situation.policy},
                               {"window", situation.window}};
    for (int i = 0; i < situation.workers; i++)
        scenario["processors"].push_back({{"name", worker(i)}, {"class", "c"}, {"cores", 1}});
    scenario["models"]["busy"]["units"] = {{{"time", {{"c", 1000}}}}};
    for (const int number : situation.busy)
        scenario["tasks"].push_back({{"id", "busy" + worker(number)},
                                     {"at", 0},
                                     {"model", "busy"},
                                     {"on", worker(number)}});
    for (std::size_t i = 0; i < situation.latencies.size(); i++) {
        const std::string name = request(static_cast<int>(i));
        scenario["models"][name]["units"] = {{{"time", {{"c", situation.latencies[i]}}}}};
        nlohmann::json task = {{"id", name}, {"at", 1}, {"model", name}};
        if (!situation.slos.empty())
            task["slo"] = situation.slos[i];
        if (!situation.targets.empty())
            task["on"] = worker(situation.targets[i]);
        if (!situation.map.empty())
            scenario["map"][name] = worker(situation.map[i]);
        scenario["tasks"].push_back(task);
    }
    return scenario;
}

TEST(ProcessorScenario, DecidesAsBandDoes) {
    const Situation situations[] = {
        {"least slack", "least-slack", 5, 3, {}, {1, 1}, {100, 80}, {}, {}, {1, 0}, false},
        {"round robin", "round-robin", 8, 2, {}, {1, 1, 1}, {}, {}, {}, {0, 1}, false},
        {"fixed, by map", "fixed", 8, 3, {}, {1, 1, 1}, {}, {}, {0, 1, 2}, {0, 1, 2}, true},
        {"fixed, one target", "fixed", 8, 3, {}, {1, 1, 1}, {}, {0, 0, 0}, {}, {0, 1, 2}, true},
        {"shortest latency", "shortest-latency", 3, 3, {}, {2, 1, 3}, {}, {}, {}, {2, 0, 1}, false},
        {"heft, one target", "heft", 3, 3, {}, {2, 1, 3}, {}, {0, 0, 0}, {}, {2}, false},
        {"heft, one busy", "heft", 3, 3, {1}, {2, 1, 3}, {}, {0, 1, 2}, {}, {2, 0}, false},
    };
    for (const Situation& situation : situations) {
        std::vector<int> dispatched;
        const nlohmann::json timeline = simulated(scenario_of(situation));
        for (const nlohmann::json& run : timeline["runs"])
            if (run["dispatched"] == 1)
                dispatched.push_back(std::stoi(run["task"].get<std::string>().substr(1)));
        if (situation.in_any_order)
            std::ranges::sort(dispatched);
        EXPECT_EQ(dispatched, situation.dispatched) << situation.name;
    }
}

/// OVERTAKE_TEST_SCENARIOS is the number of scenarios, from seed 1 on.
TEST(ProcessorScenario, RandomScenariosHaveTheTimelinesOfTheOracle) {
    const char* const wanted = std::getenv("OVERTAKE_TEST_SCENARIOS");
    const std::uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1500;
    int different = 0;
    for (std::uint64_t seed = 1; seed <= count && different < 3; seed++) {
        const nlohmann::json scenario = random_processors_scenario(seed);
        const nlohmann::json expected = processors_timeline(scenario);
        const nlohmann::json actual = simulated(scenario);
        if (actual == expected)
            continue;
        different++;
        ADD_FAILURE() << "seed " << seed << ": "
                      << nlohmann::json::diff(expected, actual).dump().substr(0, 600) << "\n"
                      << processors_text(scenario);
    }
}

} // namespace
} // namespace overtake::test
