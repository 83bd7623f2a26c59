// SPDX-License-Identifier: MIT
//
// The timelines of `overtake sim` for scenarios with groups. Those of worked examples are compared
// with the expected timelines, those of random scenarios with the oracle.
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "examples.hpp"
#include "groups_oracle.hpp"
#include "random_groups.hpp"
#include "scenario.hpp"
#include "simulator/simulate.hpp"

namespace overtake::test {
namespace {

using nlohmann::json;

json simulated(const json& scenario) {
    std::ostringstream out;
    simulator::simulate(scenario, ".", out);
    return json::parse(out.str());
}

/// Returns the first place at which `actual` is not as expected. `actual` may have more keys.
std::optional<std::string> difference(const json& expected, const json& actual,
                                      const std::string& place = "") {
    if (expected.is_object() && actual.is_object()) {
        for (const auto& [key, value] : expected.items()) {
            if (!actual.contains(key))
                return place + "." + key + " is missing";
            if (auto found = difference(value, actual[key], place + "." + key))
                return found;
        }
        return {};
    }
    if (expected.is_array() && actual.is_array() && expected.size() == actual.size()) {
        for (std::size_t i = 0; i < expected.size(); i++)
            if (auto found =
                    difference(expected[i], actual[i], place + "[" + std::to_string(i) + "]"))
                return found;
        return {};
    }
    if (expected == actual)
        return {};
    return place + " is " + actual.dump() + ", expected " + expected.dump();
}

class GroupScenario : public testing::TestWithParam<std::string> {};

TEST_P(GroupScenario, HasItsExactTimeline) {
    EXPECT_EQ(difference(read_json(example_file(GetParam() + ".expected.json")),
                         simulated(read_json(example_file(GetParam() + ".json")))),
              std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Groups, GroupScenario, testing::ValuesIn(examples("groups-")),
                         [](const auto& info) { return test_name(info.param); });

/// A plain job, and a group after it, have more FCs than a hardware ring holds.
TEST(GroupBatches, CountEachFcOnce) {
    for (const auto& [limit, plain, group] :
         {std::tuple{120, 100, 30}, std::tuple{200, 150, 150}, std::tuple{65, 64, 64}}) {
        const json scenario = {
            {"version", 1},
            {"kind", "fc"},
            {"cores", 1},
            {"core_limit", limit},
            {"jobs",
             {{{"id", "P"}, {"at", 0}, {"core", 1}, {"fcs", json(std::vector(plain, 10))}},
              {{"id", "G"},
               {"at", 0},
               {"parts", {{{"core", 1}, {"stages", {json(std::vector(group, 10))}}}}}},
              {{"id", "H"}, {"at", 5}, {"core", 1}, {"priority", 255}, {"fcs", {7}}}}}};
        EXPECT_EQ(difference(groups_timeline(scenario), simulated(scenario)), std::nullopt)
            << limit;
        EXPECT_EQ(groups_timeline(scenario)["jobs"][2]["start"], limit * 10);
    }
}

/// Runs 1,500 scenarios of each level, or OVERTAKE_TEST_SCENARIOS of them.
TEST(RandomGroups, HaveTheTimelineThatTheOracleSays) {
#ifdef __SANITIZE_ADDRESS__
    std::uint64_t count = 200;
#else
    std::uint64_t count = 1500;
#endif
    if (const char* wanted = std::getenv("OVERTAKE_TEST_SCENARIOS"))
        count = std::strtoull(wanted, nullptr, 10);
    for (const bool task_level : {false, true})
        for (std::uint64_t seed = 1; seed <= count; seed++) {
            const json scenario = random_groups(seed, task_level);
            ASSERT_EQ(difference(groups_timeline(scenario), simulated(scenario)), std::nullopt)
                << "seed " << seed << ": " << scenario;
        }
}

} // namespace
} // namespace overtake::test
