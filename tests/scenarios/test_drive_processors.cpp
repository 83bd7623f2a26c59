// SPDX-License-Identifier: MIT
//
// The runtime's coordinator on an embedded device has the timelines of the oracle, to the
// microsecond.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "drive_processors.hpp"
#include "processors_oracle.hpp"
#include "random_processors.hpp"

namespace overtake::test {
namespace {

using nlohmann::json;

constexpr std::uint64_t longest = 20'000;

std::uint64_t count() {
    const char* given = std::getenv("OVERTAKE_TEST_SCENARIOS");
    return given ? std::strtoull(given, nullptr, 10) : 150;
}

/// Returns the last instant of the scenario and its timeline.
std::uint64_t horizon_of(const json& scenario, const json& timeline) {
    std::uint64_t last = 0;
    const auto see = [&](const json& time) {
        if (time.is_number())
            last = std::max(last, time.get<std::uint64_t>());
    };
    for (const json& run : timeline["runs"])
        see(run["end"]);
    for (const json& task : timeline["tasks"]) {
        see(task["end"]);
        see(task["arrival"]);
    }
    for (const char* list : {"events", "cancels"})
        for (const json& each : scenario.value(list, json::array()))
            see(each["at"]);
    return last;
}

json by_task(json timeline) {
    json& runs = timeline["runs"];
    const auto place = [&](const json& run) {
        for (std::size_t i = 0; i < timeline["tasks"].size(); i++)
            if (timeline["tasks"][i]["id"] == run["task"])
                return i;
        return timeline["tasks"].size();
    };
    std::stable_sort(runs.begin(), runs.end(), [&](const json& a, const json& b) {
        return std::pair(place(a), a["run"].get<int>()) < std::pair(place(b), b["run"].get<int>());
    });
    return {{"runs", runs}, {"tasks", timeline["tasks"]}};
}

TEST(DriveProcessors, RandomScenariosHaveTheTimelinesOfTheOracle) {
    std::uint64_t compared = 0;
    std::uint64_t runs = 0;
    for (std::uint64_t seed = 1; compared < count(); seed++) {
        const json drawn = random_processors_scenario(seed);
        if (drawn.is_null())
            continue;
        const json scenario = without_leads(drawn);
        const json expected = by_task(processors_timeline(scenario));
        const std::uint64_t horizon = horizon_of(scenario, expected);
        if (horizon > longest)
            continue;
        const json driven = drive_processors(scenario, horizon + 1);
        ASSERT_EQ(driven, expected)
            << "seed " << seed << "\n"
            << processors_text(scenario) << processors_text(json::diff(expected, driven));
        compared++;
        runs += expected["runs"].size();
    }
    EXPECT_GT(runs, compared);
    std::printf("%llu scenarios, %llu runs\n", static_cast<unsigned long long>(compared),
                static_cast<unsigned long long>(runs));
}

} // namespace
} // namespace overtake::test
