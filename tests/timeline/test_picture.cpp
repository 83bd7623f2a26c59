// SPDX-License-Identifier: MIT
//
// Pictures of timelines, which another XML parser reads back.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "random_timeline.hpp"
#include "svg_contents.hpp"

namespace overtake::timeline {
namespace {

constexpr std::uint64_t ms = 1'000'000;

bool has_text(const nlohmann::json& contents, const std::string& words) {
    const auto& texts = contents["texts"];
    return std::find(texts.begin(), texts.end(), words) != texts.end();
}

/// Returns the FCs that the picture shows: boxes of one FC, and FCs that are joined in boxes.
std::size_t fcs_shown(const nlohmann::json& contents) {
    std::size_t sum = count(contents, "fc");
    if (contents["titles"].contains("fcs"))
        for (const std::string title : contents["titles"]["fcs"])
            sum += std::stoul(title);
    return sum;
}

Timeline one_preemption() {
    return {.title = "three FCs",
            .fcs = {{"large", 7, 0, 1, false, 0, 1 * ms},
                    {"small", 8, 0, 1, true, 1 * ms, 3 * ms},
                    {"large", 7, 1, 1, false, 3 * ms, 4 * ms}},
            .preemptions = {{1, 1 * ms, 7}}};
}

TEST(Picture, ShowsThreeFcsAndThePreemption) {
    const auto contents = inspect(to_svg(one_preemption(), 0, 5 * ms));
    expect_tidy(contents);
    EXPECT_EQ(count(contents, "fc"), 3u);
    EXPECT_EQ(count(contents, "preemption"), 1u);
    EXPECT_EQ(contents["waits"], 1);
    EXPECT_EQ(contents["titles"]["preemption"][0], "preemption at 1 ms");
    EXPECT_EQ(contents["titles"]["fc"][0], "small FC 0 on core 1, HIGH: 2 ms from 1 ms");
    for (const char* words : {"three FCs", "core 1", "HIGH", "NORMAL", "large #0", "large #1",
                              "small #0", "device time, ms"})
        EXPECT_TRUE(has_text(contents, words)) << words;
    EXPECT_EQ(contents["ticks"], nlohmann::json({"0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0",
                                                 "3.5", "4.0", "4.5", "5.0"}));
}

TEST(Picture, FindsTheJobThatWaitsWhenThePreemptionHasNoTag) {
    Timeline timeline = one_preemption();
    timeline.preemptions[0].tag = 0;
    EXPECT_EQ(inspect(to_svg(timeline, 0, 5 * ms))["waits"], 1);
    timeline.preemptions[0].tag = 9;
    EXPECT_EQ(inspect(to_svg(timeline, 0, 5 * ms))["waits"], 0);
}

TEST(Picture, TellsRequestsOfOneTaskApart) {
    const Timeline timeline = {.title = "requests",
                               .fcs = {{"large", 7, 0, 1, false, 0, 2 * ms, 1},
                                       {"large", 8, 0, 1, false, 2 * ms, 4 * ms, 2},
                                       {"large", 9, 3, 1, false, 4 * ms, 5 * ms}},
                               .cpu = {{"large", 7, 1, 2 * ms, 4 * ms, 1}}};
    const auto contents = inspect(to_svg(timeline, 0, 5 * ms));
    expect_tidy(contents);
    for (const char* words : {"large 1 #0", "large 2 #0", "large #3", "large 1"})
        EXPECT_TRUE(has_text(contents, words)) << words;
    EXPECT_EQ(contents["titles"]["fc"][1], "large 2 FC 0 on core 1, NORMAL: 2 ms from 2 ms");
    EXPECT_EQ(contents["titles"]["cpu"][0], "large 1 CPU segment 1: 2 ms from 2 ms");
    // In narrower boxes the FC's number goes first, then the name.
    const auto narrow = inspect(to_svg(timeline, 0, 40 * ms));
    EXPECT_TRUE(has_text(narrow, "large 1"));
    EXPECT_FALSE(has_text(narrow, "large 1 #0"));
}

/// Returns three lanes: a core, a core that fails, and a worker that is slower for a while.
Timeline three_lanes() {
    return {.title = "lanes",
            .fcs = {{"large", 7, 0, 1, false, 0, 2 * ms, 1},
                    {"small", 8, 0, 3, false, 2 * ms, 4 * ms, 2, "units 1 to 2"}},
            .lanes = {{"npu.1", true}, {"npu.2 with a long name", true}, {"cpu #1", false}},
            .conditions = {{2, 1 * ms, 4 * ms, "out of use", false},
                           {3, 2 * ms, 3 * ms, "takes 200 %", true}}};
}

TEST(Picture, HasARowForEachLaneAndShowsItsConditions) {
    const auto contents = inspect(to_svg(three_lanes(), 0, 5 * ms));
    expect_tidy(contents);
    EXPECT_EQ(contents["titles"]["fc"][0], "large 1 FC 0 on npu.1, NORMAL: 2 ms from 0 ns");
    EXPECT_EQ(contents["titles"]["fc"][1], "small 2 units 1 to 2 on cpu #1: 2 ms from 2 ms");
    EXPECT_EQ(contents["titles"]["condition"],
              nlohmann::json(
                  {"npu.2 with a long name out of use from 1 ms", "cpu #1 takes 200 % from 2 ms"}));
    for (const char* words : {"npu.1", "cpu #1", "out of use", "takes 200 %", "small 2",
                              "2 FCs and runs of workers on 3 cores and workers"})
        EXPECT_TRUE(has_text(contents, words) ||
                    contents["texts"].dump().find(words) != std::string::npos)
            << words;
    EXPECT_EQ(contents["texts"].dump().find("with a long name"), std::string::npos) << "shortened";
    EXPECT_EQ(count(contents, "legend"), 5u);
}

TEST(Picture, ShowsOnlyItsWindowAndTheSameColoursInEach) {
    const Timeline timeline = {
        .title = "windows",
        .fcs = {{"one", 1, 0, 1, false, 0, 2 * ms}, {"two", 2, 0, 2, true, 9 * ms, 11 * ms}},
        .preemptions = {{1, 10 * ms, 0}}};
    const std::string early = to_svg(timeline, 1 * ms, 8 * ms);
    const std::string late = to_svg(timeline, 10 * ms, 12 * ms);
    const auto contents = inspect(early);
    expect_tidy(contents);
    EXPECT_EQ(count(contents, "fc"), 1u);
    EXPECT_EQ(count(contents, "preemption"), 0u);
    EXPECT_TRUE(has_text(contents, "core 2"));
    EXPECT_EQ(early.find("two"), std::string::npos);
    EXPECT_EQ(late.find("one"), std::string::npos);
    EXPECT_EQ(count(inspect(late), "preemption"), 1u);
    // The first colour of the palette is that of "one", wherever it is drawn.
    EXPECT_NE(early.find("#56b4e9"), std::string::npos);
    EXPECT_EQ(late.find("#56b4e9"), std::string::npos);
}

/// Returns the colour of the first box of a task.
std::string colour_of(const std::string& svg, const std::string& task) {
    const std::size_t box = svg.find("<title>" + task + " FC ");
    const std::size_t fill = svg.find("fill=\"#", box);
    return box == std::string::npos ? "none" : svg.substr(fill + 6, 7);
}

TEST(Picture, ColoursBelongToNamesInAllPicturesThatKnowThem) {
    const std::string together = to_svg(one_preemption(), 0, 5 * ms);
    for (const std::string task : {"large", "small"}) {
        Timeline alone = one_preemption();
        std::erase_if(alone.fcs, [&](const Fc& fc) { return fc.task != task; });
        alone.tasks = {"small", "large"};
        const std::string svg = to_svg(alone, 0, 5 * ms);
        EXPECT_EQ(colour_of(svg, task), colour_of(together, task));
        // The legend has only tasks that are in the picture.
        EXPECT_EQ(inspect(svg)["legend"][0][0], task);
    }
    EXPECT_NE(colour_of(together, "small"), colour_of(together, "large"));
}

TEST(Picture, TimeStartsAtItsOrigin) {
    constexpr std::uint64_t day = 86'400'000 * ms;
    Timeline timeline = one_preemption();
    for (Fc& fc : timeline.fcs) {
        fc.start_ns += day;
        fc.end_ns += day;
    }
    timeline.preemptions[0].time_ns += day;
    timeline.origin_ns = day + ms / 2;
    const auto contents = inspect(to_svg(timeline, day + ms / 2, day + 5 * ms / 2));
    expect_tidy(contents);
    EXPECT_EQ(contents["ticks"], nlohmann::json({"0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2",
                                                 "1.4", "1.6", "1.8", "2.0"}));
    EXPECT_TRUE(has_text(contents, "device time, ms"));
    EXPECT_EQ(contents["titles"]["fc"][0], "small FC 0 on core 1, HIGH: 2 ms from 500 µs");
    EXPECT_EQ(contents["titles"]["fc"][1], "large FC 0 on core 1, NORMAL: 1 ms from −500 µs");
    EXPECT_EQ(contents["titles"]["preemption"][0], "preemption at 500 µs");
}

TEST(Picture, MarksWhatWasNotRecorded) {
    Timeline timeline = one_preemption();
    EXPECT_EQ(count(inspect(to_svg(timeline, 0, 8 * ms)), "unrecorded"), 0u);
    timeline.unrecorded = {{4 * ms, 8 * ms, "the disk was full"}, {9 * ms, 10 * ms, ""}};
    const auto contents = inspect(to_svg(timeline, 0, 8 * ms));
    expect_tidy(contents);
    EXPECT_EQ(count(contents, "unrecorded"), 1u);
    EXPECT_TRUE(has_text(contents, "not recorded: the disk was full"));
    EXPECT_TRUE(has_text(contents, "not recorded"));
    // This also holds if all of the time was not recorded.
    const Timeline nothing = {.title = "nothing", .unrecorded = {{0, 8 * ms, "no right to"}}};
    const auto empty = inspect(to_svg(nothing, 0, 8 * ms));
    expect_tidy(empty);
    EXPECT_TRUE(has_text(empty, "not recorded: no right to"));
}

TEST(Picture, ShowsRequestsFromArrivalToEnd) {
    Timeline timeline = one_preemption();
    timeline.requests = {
        {"small", ms, 3 * ms}, {"small", 2 * ms, 5 * ms}, {"small", 9 * ms, 10 * ms}};
    const auto contents = inspect(to_svg(timeline, 0, 5 * ms));
    expect_tidy(contents);
    EXPECT_EQ(contents["titles"]["request"],
              nlohmann::json({"small request: 2 ms from 1 ms", "small request: 3 ms from 2 ms"}));
    for (const char* words : {"requests", "small: 2 ms", "small: 3 ms"})
        EXPECT_TRUE(has_text(contents, words)) << words;
    for (std::uint64_t at = 0; at < 9; at++)
        timeline.requests.push_back({"small", 3 * ms + at, 4 * ms + at});
    const auto many = inspect(to_svg(timeline, 0, 5 * ms));
    expect_tidy(many);
    EXPECT_EQ(count(many, "request"), 9u);
    EXPECT_TRUE(std::ranges::any_of(many["texts"], [](const nlohmann::json& text) {
        return text.get<std::string>().ends_with("; 2 requests are not shown: more than 8 at once");
    }));
}

TEST(Picture, EscapesWhatXmlCannotHold) {
    Timeline timeline = one_preemption();
    timeline.title = "a < b & \"c\" \x01 \xff\xc3";
    for (Fc& fc : timeline.fcs)
        fc.task = "<" + fc.task + ">&\x02\xed\xa0\x80";
    timeline.cpu = {{"\"quoted\"", 1, 0, 0, ms}};
    const auto contents = inspect(to_svg(timeline, 0, 5 * ms));
    expect_tidy(contents);
    EXPECT_TRUE(has_text(contents, "a < b & \"c\" \uFFFD \uFFFD\uFFFD"));
    EXPECT_EQ(contents["titles"]["cpu"][0], "\"quoted\" CPU segment 0: 1 ms from 0 ns");
}

TEST(Picture, IsTidyFromOneCoreToSixtyFour) {
    for (unsigned cores : {1u, 4u, 5u, 16u, 17u, 64u}) {
        const Timeline timeline = random_timeline(
            {.cores = cores, .fcs_per_core = 2000 / cores, .tasks = 5, .cpu = true}, cores);
        const auto contents = inspect(to_svg(timeline, 0, end_of(timeline)));
        expect_tidy(contents);
        EXPECT_EQ(fcs_shown(contents), timeline.fcs.size()) << cores;
        EXPECT_TRUE(has_text(contents, fmt::format("core {}", cores)));
        EXPECT_FALSE(has_text(contents, fmt::format("core {}", cores + 1)));
    }
}

TEST(Picture, NumbersTasksWhenColoursDoNotSuffice) {
    Timeline timeline;
    timeline.title = "many";
    for (unsigned task = 0; task < 100; task++)
        timeline.fcs.push_back({fmt::format("the long name of task {}, longer than fits", task),
                                task + 1, 0, 1 + task % 4, false, task * ms, (task + 10) * ms});
    const auto contents = inspect(to_svg(timeline, 0, 120 * ms));
    expect_tidy(contents);
    std::set<std::string> numbers;
    for (const auto& entry : contents["legend"]) {
        const std::string words = entry[0];
        if (std::isdigit(static_cast<unsigned char>(words[0])) != 0) {
            EXPECT_TRUE(numbers.insert(words.substr(0, words.find(':'))).second) << words;
        }
    }
    EXPECT_EQ(numbers.size(), 60u);
    EXPECT_TRUE(has_text(contents, "and 40 more tasks, by number"));
}

TEST(Picture, CountsTheCpuSegmentsThatItHasNoRoomFor) {
    Timeline timeline = one_preemption();
    for (unsigned task = 0; task < 11; task++)
        timeline.cpu.push_back({"large", 100 + task, 0, task * 1000, 4 * ms});
    timeline.cpu.push_back({"large", 200, 0, 4 * ms, 5 * ms});
    const auto contents = inspect(to_svg(timeline, 0, 5 * ms));
    expect_tidy(contents);
    EXPECT_EQ(count(contents, "cpu"), 9u);
    EXPECT_TRUE(has_text(contents, "5 ms of device time: 3 FCs on 1 core, 1 preemption; 3 CPU "
                                   "segments are not shown: more than 8 at once"));
}

TEST(Picture, NamesARoundTimeWhenTheClockHasManyDigits) {
    Timeline timeline = one_preemption();
    const std::uint64_t boot = 3'641'234'500'000;
    for (Fc& fc : timeline.fcs) {
        fc.start_ns += boot;
        fc.end_ns += boot;
    }
    const auto contents = inspect(to_svg(timeline, boot, boot + 5 * ms));
    expect_tidy(contents);
    EXPECT_TRUE(has_text(contents, "device time, ms after 3641.23 s"));
    EXPECT_EQ(contents["ticks"][0], "+4.5");
    EXPECT_EQ(contents["ticks"][10], "+9.5");
}

TEST(Picture, StaysSmallHoweverManyFcs) {
    const Timeline timeline = random_timeline({.cores = 2, .fcs_per_core = 150'000}, 3);
    const std::string svg = to_svg(timeline, 0, end_of(timeline));
    EXPECT_LT(svg.size(), 3'000'000u);
    const auto contents = inspect(svg);
    expect_tidy(contents);
    EXPECT_EQ(fcs_shown(contents), timeline.fcs.size());
    EXPECT_EQ(count(contents, "preemption"), 0u);
    std::size_t preemptions = 0;
    for (const std::string title : contents["titles"]["preemptions"])
        preemptions += std::stoul(title);
    EXPECT_EQ(preemptions, timeline.preemptions.size());
}

TEST(Picture, OfNothingIsAnEmptyCore) {
    const auto contents = inspect(to_svg({}, 0, 0));
    expect_tidy(contents);
    EXPECT_EQ(count(contents, "fc"), 0u);
    EXPECT_TRUE(has_text(contents, "core 1"));
}

TEST(Picture, ReachesTheEndOfTime) {
    const std::uint64_t end = ~std::uint64_t{0};
    Timeline timeline;
    timeline.fcs = {{"last", 1, 0, 1, false, end - 1000, end}};
    const auto contents = inspect(to_svg(timeline, end - 2000, end));
    expect_tidy(contents);
    EXPECT_EQ(count(contents, "fc"), 1u);
    expect_tidy(inspect(to_svg(timeline, 0, end)));
}

} // namespace
} // namespace overtake::timeline
