// SPDX-License-Identifier: MIT
//
// Random execution times, and the cost of dispatching.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulated.hpp"
#include "simulator/jitter.hpp"
#include "simulator/recorder.hpp"

namespace overtake::simulator {
namespace {

using test::error_of;
using test::scenario_of;

std::vector<double> drawn(const Jitter& jitter, std::uint64_t time) {
    std::vector<double> times;
    for (std::uint64_t i = 0; i < 100'000; i++)
        times.push_back(static_cast<double>(
            jitter.of(time, {.seed = 1, .source = i % 7, .number = i / 7, .segment = 0, .fc = 0})));
    return times;
}

double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values)
        sum += value;
    return sum / static_cast<double>(values.size());
}

TEST(Jitter, UniformFillsItsRangeEvenly) {
    const auto times = drawn({Jitter::Shape::uniform, 0.2}, 1000);
    const auto [least, most] = std::ranges::minmax(times);
    EXPECT_EQ(least, 800);
    EXPECT_EQ(most, 1200);
    EXPECT_NEAR(mean_of(times), 1000, 2);
    const auto low = std::ranges::count_if(times, [](double time) { return time < 900; });
    EXPECT_NEAR(static_cast<double>(low), 25'000, 600);
}

TEST(Jitter, LogNormalKeepsTheMean) {
    const double sigma = 0.5;
    const auto times = drawn({Jitter::Shape::log_normal, sigma}, 100'000);
    EXPECT_NEAR(mean_of(times) / 100'000, 1, 0.01);
    const double median = 100'000 * std::exp(-sigma * sigma / 2);
    const auto below = std::ranges::count_if(times, [&](double time) { return time < median; });
    EXPECT_NEAR(static_cast<double>(below), 50'000, 800);
}

TEST(Jitter, NothingTakesLessThanAMicrosecondOrMoreThanThereIs) {
    const auto times = drawn({Jitter::Shape::uniform, 1}, 1);
    EXPECT_EQ(*std::ranges::min_element(times), 1);
    const Jitter wide = {Jitter::Shape::log_normal, 2};
    const std::uint64_t limit = std::uint64_t{1} << 63;
    for (std::uint64_t i = 0; i < 1000; i++)
        EXPECT_LE(wide.of(limit, {.seed = i, .source = 0, .number = 0, .segment = 0, .fc = 0}),
                  limit);
}

TEST(Jitter, EachPartOfTheKeyCounts) {
    const Jitter jitter = {Jitter::Shape::uniform, 0.5};
    const JitterKey key = {.seed = 1, .source = 2, .number = 3, .segment = 4, .fc = 5};
    const auto time = [&](const JitterKey& of) { return jitter.of(1'000'000'000'000, of); };
    EXPECT_EQ(time(key), time(key));
    EXPECT_NE(time(key), time({2, 2, 3, 4, 5}));
    EXPECT_NE(time(key), time({1, 3, 3, 4, 5}));
    EXPECT_NE(time(key), time({1, 2, 4, 4, 5}));
    EXPECT_NE(time(key), time({1, 2, 3, 5, 5}));
    EXPECT_NE(time(key), time({1, 2, 3, 4, 6}));
    EXPECT_NE(time(key), time({2, 1, 3, 4, 5})) << "nor is it their sum";
}

/// The time of each FC of a run, and of each CPU segment (as FC -1).
using FcTimes = std::map<std::tuple<std::string, std::int64_t>, std::uint64_t>;

FcTimes times_of(const nlohmann::json& document, std::uint64_t seed) {
    const Scenario scenario = parse_scenario(document, {});
    Recorder recorder(scenario);
    const std::array<Observer*, 1> observers = {&recorder};
    Simulator(scenario, seed, observers).run();
    std::ostringstream out;
    recorder.write(out);
    const auto timeline = nlohmann::json::parse(out.str());
    FcTimes times;
    for (const auto& fc : timeline.at("fcs"))
        times[{fc.at("job"), fc.at("index")}] =
            fc.at("end").get<std::uint64_t>() - fc.at("start").get<std::uint64_t>();
    if (timeline.contains("cpu"))
        for (const auto& cpu : timeline.at("cpu"))
            times[{cpu.at("task").get<std::string>() + "." + cpu.at("segment").dump(), -1}] =
                cpu.at("end").get<std::uint64_t>() - cpu.at("start").get<std::uint64_t>();
    return times;
}

const char* const chains = R"({"version": 1, "kind": "task", "cores": 1, "core_limit": 0,
    "models": {"m": {"segments": [{"bpu": [100, 200]}, {"cpu": 300}, {"bpu": [50]}]}},
    "tasks": [{"id": "one", "at": 0, "model": "m"}, {"id": "two", "at": 10, "model": "m"}],
    "loads": [{"id": "l", "model": "m", "priority": 255, "count": 20,
               "arrivals": {"type": "periodic", "period": 500}}]})";

TEST(Jitter, IsOffByDefaultAndAtZero) {
    nlohmann::json document = nlohmann::json::parse(chains);
    const FcTimes plain = times_of(document, 1);
    EXPECT_EQ(plain.at({"one.0", 0}), 100u);
    EXPECT_EQ(plain.at({"one.1", -1}), 300u);
    document["fc_jitter"] = 0;
    document["cpu_jitter"] = {{"type", "log_normal"}, {"sigma", 0}};
    document["dispatch_cost"] = 0;
    EXPECT_EQ(times_of(document, 2), plain);
}

TEST(Jitter, DependsOnTheSeedAndNotOnTheSchedule) {
    nlohmann::json document = nlohmann::json::parse(chains);
    document["fc_jitter"] = 0.5;
    document["cpu_jitter"] = {{"type", "log_normal"}, {"sigma", 0.3}};
    const FcTimes times = times_of(document, 1);
    EXPECT_EQ(times_of(document, 1), times);
    EXPECT_NE(times_of(document, 2), times);
    EXPECT_NE(times.at({"one.0", 0}) * 2, times.at({"one.0", 1}));
    EXPECT_NE(times.at({"one.0", 0}), times.at({"two.0", 0}));
    EXPECT_NE(times.at({"one.1", -1}), 300u);
    document["core_limit"] = 1;
    document["slots"] = 3;
    EXPECT_EQ(times_of(document, 1), times) << "as much work, in another order";
}

TEST(Jitter, OfALoadIsNotChangedByAnotherBehindIt) {
    nlohmann::json document = nlohmann::json::parse(chains);
    document["fc_jitter"] = 0.5;
    const auto total = [&] {
        std::uint64_t sum = 0;
        const Scenario scenario = parse_scenario(document, {});
        Accounts accounts(scenario);
        const std::array<Observer*, 1> observers = {&accounts};
        Simulator(scenario, 1, observers).run();
        for (std::size_t i = 0; i < scenario.classes.size(); i++)
            if (scenario.classes[i].name == "l")
                sum = accounts.classes()[i].running;
        return sum;
    };
    const std::uint64_t before = total();
    document["loads"].push_back({{"id", "k"},
                                 {"model", "m"},
                                 {"count", 9},
                                 {"arrivals", {{"type", "periodic"}, {"period", 77}}}});
    EXPECT_EQ(total(), before);
}

TEST(Jitter, DispatchCostsTheFirstFcOfEachJob) {
    nlohmann::json document = nlohmann::json::parse(chains);
    document["dispatch_cost"] = 7;
    const FcTimes times = times_of(document, 1);
    EXPECT_EQ(times.at({"one.0", 0}), 107u);
    EXPECT_EQ(times.at({"one.0", 1}), 200u);
    EXPECT_EQ(times.at({"one.1", -1}), 300u);
    EXPECT_EQ(times.at({"one.2", 0}), 57u);
    const auto fc = nlohmann::json::parse(R"({"version": 1, "kind": "fc", "cores": 1,
        "dispatch_cost": 5, "jobs": [{"id": "a", "at": 0, "fcs": [10, 20]}]})");
    EXPECT_EQ(times_of(fc, 1), (FcTimes{{{"a", 0}, 15}, {{"a", 1}, 20}}));
}

TEST(Jitter, IsRefusedWhereItMeansNothing) {
    const auto refused = [](const char* key, const nlohmann::json& value, const char* text) {
        nlohmann::json document = nlohmann::json::parse(chains);
        document[key] = value;
        const std::string error = error_of([&] { parse_scenario(document, {}); });
        EXPECT_TRUE(error.starts_with(text)) << error;
    };
    refused("fc_jitter", 1.5, "fc_jitter: 1.5, but a number from 0 to 1 is needed");
    refused("fc_jitter", "much", "fc_jitter: \"much\" is not a number");
    refused("fc_jitter", {{"type", "gamma"}},
            "fc_jitter.type: \"gamma\" is neither \"uniform\" nor \"log_normal\"");
    refused("fc_jitter", {{"type", "uniform"}, {"sigma", 1}},
            "fc_jitter.sigma: unknown key, kind \"task\"; possible here: type, spread");
    refused("cpu_jitter", {{"type", "log_normal"}, {"sigma", 2.5}},
            "cpu_jitter.sigma: 2.5, but a number from 0 to 2 is needed");
    refused("dispatch_cost", -1, "dispatch_cost: -1, but at least 0 is needed");
    const std::string unknown = error_of([] {
        scenario_of(R"({"version": 1, "kind": "fc", "cores": 1, "cpu_jitter": 0,
                        "jobs": [{"id": "a", "at": 0, "fcs": [1]}]})");
    });
    EXPECT_TRUE(unknown.starts_with("cpu_jitter: unknown key, kind \"fc\"; possible here: version, "
                                    "kind, cores, "))
        << unknown;
}

TEST(Jitter, OfTimesThatPassTheEndIsRefused) {
    const auto document = nlohmann::json::parse(R"({"version": 1, "kind": "fc", "cores": 1,
        "dispatch_cost": 9223372036854775807, "jobs": [{"id": "a", "at": 2, "fcs": [1]}]})");
    EXPECT_EQ(error_of([&] { times_of(document, 1); }),
              "virtual time passed 2^63 us: give the loads a smaller until");
}

} // namespace
} // namespace overtake::simulator
