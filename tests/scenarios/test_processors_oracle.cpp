// SPDX-License-Identifier: MIT
//
// The oracle of several processors reproduces every worked example, and its timelines of random
// scenarios are consistent.
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "examples.hpp"
#include "processors_decisions.hpp"
#include "processors_invariants.hpp"
#include "processors_oracle.hpp"
#include "random_processors.hpp"

namespace overtake::test {
namespace {

using nlohmann::json;

json read(const std::string& path) {
    std::ifstream file(path);
    return json::parse(file);
}

class ProcessorsOracleTest : public testing::TestWithParam<std::string> {};

TEST_P(ProcessorsOracleTest, AgreesWithTheExpectedTimeline) {
    EXPECT_EQ(processors_timeline(read(processors_example_file(GetParam() + ".json"))),
              read(processors_example_file(GetParam() + ".expected.json")));
}

TEST_P(ProcessorsOracleTest, HasAConsistentExample) {
    EXPECT_EQ(processors_violations(read(processors_example_file(GetParam() + ".json")),
                                    read(processors_example_file(GetParam() + ".expected.json"))),
              std::vector<std::string>{});
    EXPECT_EQ(processors_decision_violations(
                  read(processors_example_file(GetParam() + ".json")),
                  read(processors_example_file(GetParam() + ".expected.json"))),
              std::vector<std::string>{});
}

// No code of the product runs here, so a tenth is enough with sanitizers, which take twenty times
// as long.
#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t scenarios = 60;
#else
constexpr std::uint64_t scenarios = 600;
#endif

TEST(ProcessorsOracle, IsConsistentOnRandomScenarios) {
    for (std::uint64_t seed = 0; seed < scenarios; seed++) {
        const json scenario = random_processors_scenario(seed);
        const json timeline = processors_timeline(scenario);
        ASSERT_EQ(processors_violations(scenario, timeline), std::vector<std::string>{})
            << "seed " << seed << "\n"
            << processors_text(scenario);
        ASSERT_EQ(processors_decision_violations(scenario, timeline), std::vector<std::string>{})
            << "seed " << seed << "\n"
            << processors_text(scenario);
    }
}

TEST(ProcessorsOracle, DrawsTheSameScenarioFromTheSameSeed) {
    EXPECT_EQ(random_processors_scenario(7), random_processors_scenario(7));
    EXPECT_NE(random_processors_scenario(7), random_processors_scenario(8));
}

INSTANTIATE_TEST_SUITE_P(Processors, ProcessorsOracleTest, testing::ValuesIn(processors_examples()),
                         [](const auto& info) { return test_name(info.param); });

} // namespace
} // namespace overtake::test
