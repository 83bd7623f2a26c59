// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "simulated.hpp"
#include "simulator/settings.hpp"

namespace overtake::simulator {
namespace {

using nlohmann::json;
using test::error_of;

json document() {
    return json::parse(R"({"core_limit": 1, "models": {"a": {"segments": [{"bpu": [5]}]}},
        "loads": [{"id": "camera", "priority": 1, "arrivals": {"period": 10}},
                  {"id": "1", "priority": 2}, {"id": "radar.front", "priority": 3}],
        "processors": [{"name": "npu", "cores": 1}], "list": [7, 8]})");
}

json changed(const std::string& text) {
    json value = document();
    apply_setting(value, parse_setting(text));
    return value;
}

TEST(Settings, ReachEveryKindOfKey) {
    EXPECT_EQ(changed("core_limit=3")["core_limit"], 3);
    EXPECT_EQ(changed("models.a.segments.0.bpu.0=9")["models"]["a"]["segments"][0]["bpu"][0], 9);
    EXPECT_EQ(changed("loads.camera.arrivals.period=20")["loads"][0]["arrivals"]["period"], 20);
    EXPECT_EQ(changed("loads.camera.slo=5")["loads"][0]["slo"], 5) << "a new key";
    EXPECT_EQ(changed("cores=2")["cores"], 2) << "a new key";
    EXPECT_EQ(changed("env.HB_MAX_TASK_NUM=4")["env"]["HB_MAX_TASK_NUM"], 4) << "a new object";
    EXPECT_EQ(changed("list.1=5")["list"], json({7, 5}));
    EXPECT_EQ(changed("processors.npu.cores=2")["processors"][0]["cores"], 2);
}

TEST(Settings, PreferIdsToNumbers) {
    EXPECT_EQ(changed("loads.1.priority=9")["loads"][1]["priority"], 9);
    EXPECT_EQ(changed("loads.0.priority=9")["loads"][0]["priority"], 9);
    EXPECT_EQ(changed("loads.2.priority=9")["loads"][2]["priority"], 9);
}

TEST(Settings, TakeJsonAndElseText) {
    EXPECT_EQ(parse_setting("a=5").value, json(5));
    EXPECT_EQ(parse_setting("a=[1,2]").value, json({1, 2}));
    EXPECT_EQ(parse_setting("a=true").value, json(true));
    EXPECT_EQ(parse_setting("a=fifo").value, json("fifo"));
    EXPECT_EQ(parse_setting("a=").value, json(""));
    EXPECT_EQ(parse_setting("a=b=c").value, json("b=c"));
    EXPECT_EQ(parse_setting("a.b=1").key, "a.b");
}

/// Returns the settings of a scenario that names none.
ovt_sched_settings usual_settings(const char* unit) {
    json scenario = json::parse(R"({"version": 1, "kind": "task", "cores": 1,
        "models": {"m": {"segments": [{"bpu": [5]}]}},
        "tasks": [{"id": "a", "at": 0, "model": "m"}]})");
    scenario["time_unit"] = unit;
    return parse_scenario(scenario, {}).settings;
}

TEST(Settings, UsualTimesAreAsLongInEachUnit) {
    const ovt_sched_settings in_us = usual_settings("us"), in_ns = usual_settings("ns");
    EXPECT_EQ(in_us.insert_max_time, 1'000'000u);
    EXPECT_EQ(in_ns.insert_max_time, 1'000'000'000u);
    EXPECT_EQ(in_us.wait_dispatch_time, 20'000u);
    EXPECT_EQ(in_ns.wait_dispatch_time, 20'000'000u);
    EXPECT_EQ(in_us.slots, in_ns.slots);
}

TEST(Settings, SayWhatTheScenarioDoesNotHave) {
    EXPECT_EQ(error_of([] { changed("models.b.segments=1"); }),
              "models.b.segments: the scenario has no models.b");
    EXPECT_EQ(error_of([] { changed("loads.lidar.priority=1"); }),
              "loads.lidar.priority: the scenario has no loads.lidar");
    EXPECT_EQ(error_of([] { changed("loads.3.priority=1"); }),
              "loads.3.priority: the scenario has no loads.3");
    EXPECT_EQ(error_of([] { changed("a.priority=1"); }),
              "a.priority: the scenario has no a; did you mean models.a.priority?");
    EXPECT_EQ(error_of([] { changed("camera.priority=1"); }),
              "camera.priority: the scenario has no camera; did you mean loads.camera.priority?");
    EXPECT_EQ(error_of([] { changed("list.-1=1"); }), "list.-1: the scenario has no list.-1");
    EXPECT_EQ(error_of([] { changed("list.1x=1"); }), "list.1x: the scenario has no list.1x");
    EXPECT_EQ(error_of([] { changed("core_limit.x=1"); }),
              "core_limit.x: the scenario has no core_limit.x");
    EXPECT_EQ(error_of([] { changed("models.env.x=1"); }),
              "models.env.x: the scenario has no models.env");
    EXPECT_EQ(error_of([] { parse_setting("core_limit"); }), "core_limit: KEY=VALUE is needed");
    EXPECT_EQ(error_of([] { parse_setting("=5"); }), "=5: KEY=VALUE is needed");
}

std::string points(const std::string& text) {
    const Grid grid(text);
    std::string result;
    for (std::size_t i = 0; i < grid.size(); i++) {
        result += i == 0 ? "" : " ";
        for (const Setting& setting : grid.at(i))
            result += setting.key + setting.value.dump();
    }
    return result;
}

TEST(Grid, HoldsEveryCombinationTheLastKeyFastest) {
    EXPECT_EQ(points("a=1..3"), "a1 a2 a3");
    EXPECT_EQ(points("a=1..2,b=x|y"), "a1b\"x\" a1b\"y\" a2b\"x\" a2b\"y\"");
    EXPECT_EQ(points("a=0..1,b=5,c=0..1"), "a0b5c0 a0b5c1 a1b5c0 a1b5c1");
    EXPECT_EQ(Grid("a=1..2,b=x|y").keys(), (std::vector<std::string>{"a", "b"}));
}

TEST(Grid, StepsFromTheFirstValueUpToTheLast) {
    EXPECT_EQ(points("a=0..10:4"), "a0 a4 a8");
    EXPECT_EQ(points("a=0..8:4"), "a0 a4 a8");
    EXPECT_EQ(points("a=-2..1"), "a-2 a-1 a0 a1");
    EXPECT_EQ(points("a=5..5"), "a5");
    EXPECT_EQ(points("a=3..9:100"), "a3");
    EXPECT_EQ(points("a=9223372036854775806..9223372036854775807"),
              "a9223372036854775806 a9223372036854775807");
    const std::string whole = "a=-9223372036854775808..9223372036854775807:";
    EXPECT_EQ(points(whole + "9223372036854775807"),
              "a-9223372036854775808 a-1 a9223372036854775806");
    EXPECT_EQ(points(whole + "9223372036854775806"),
              "a-9223372036854775808 a-2 a9223372036854775804");
    EXPECT_EQ(points("a=9223372036854775800..9223372036854775807:7"),
              "a9223372036854775800 a9223372036854775807");
}

TEST(Grid, TakesFilesInOtherDirectories) {
    EXPECT_EQ(points("a=../a.ovm|../b.ovm"), "a\"../a.ovm\" a\"../b.ovm\"");
    EXPECT_EQ(points("a=../1.ovm"), "a\"../1.ovm\"");
    EXPECT_EQ(points("a=net..v2"), "a\"net..v2\"");
    EXPECT_EQ(points("a=1/../2.ovm|../2"), "a\"1/../2.ovm\" a\"../2\"");
    EXPECT_EQ(points("a=\"1..2\""), "a\"1..2\"");
}

TEST(Grid, TakesJsonWithCommasAndBars) {
    EXPECT_EQ(points("a=[1,2]|[0,0]"), "a[1,2] a[0,0]");
    EXPECT_EQ(points("a=[[1,2],[3]],b=1..2"), "a[[1,2],[3]]b1 a[[1,2],[3]]b2");
    EXPECT_EQ(points(R"(a={"x":"],}|","y":[]}|3,b="u,v\"|w")"),
              R"(a{"x":"],}|","y":[]}b"u,v\"|w" a3b"u,v\"|w")");
    EXPECT_EQ(points("a=[x|5\" screen,b=]"), "a\"[x\"b\"]\" a\"5\\\" screen\"b\"]\"")
        << "what does not end is text";
}

TEST(Grid, RefusesWhatIsNoRange) {
    for (const char* values : {"3..1", "1..", "1..5:0", "1..5:-1", "1..5:x", "1..5:1:1", "1..5x",
                               "1..5|7", "9|1..5", "1|", "|", "", "1..99999999999999999999"})
        EXPECT_EQ(error_of([&] { Grid(std::string("k=") + values); }),
                  std::string("k=") + values + ": values are A..B, A..B:STEP or V|V|V");
    for (const char* text : {"", "k", "=1..2", "a=1..2,b", "policy=fifo,deadline"})
        EXPECT_EQ(error_of([&] { Grid{text}; }),
                  fmt::format("--sweep \"{}\": KEY=A..B[,KEY=A..B...] is needed; values of one key "
                              "have | between them, as in policy=fifo|deadline",
                              text));
}

TEST(Grid, RefusesMorePointsThanAUserReads) {
    EXPECT_EQ(Grid("a=1..100000").size(), 100'000u);
    EXPECT_EQ(error_of([] { Grid("a=0..100000"); }), "a=0..100000: more than 100000 values");
    EXPECT_EQ(error_of([] { Grid("a=-9223372036854775808..9223372036854775807"); }),
              "a=-9223372036854775808..9223372036854775807: more than 100000 values");
    EXPECT_EQ(error_of([] { Grid("a=1..1000,b=1..101"); }),
              "a=1..1000,b=1..101: more than 100000 combinations");
}

} // namespace
} // namespace overtake::simulator
