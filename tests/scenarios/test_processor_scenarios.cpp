// SPDX-License-Identifier: MIT
//
// Networks of units on several processors: the shipped coordinator and firmware, in the simulator,
// make the examples' timelines, and those of an oracle that was written from the rules alone.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "examples.hpp"
#include "processors_oracle.hpp"
#include "random_processors.hpp"
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

/// OVERTAKE_TEST_SCENARIOS: how many, from seed 1 on.
TEST(ProcessorScenario, RandomOnesHaveTheTimelinesOfTheOracle) {
    const char* const wanted = std::getenv("OVERTAKE_TEST_SCENARIOS");
    const std::uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 4000;
    int different = 0;
    for (std::uint64_t seed = 1; seed <= count && different < 40; seed++) {
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
