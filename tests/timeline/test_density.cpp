// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <tuple>

#include <malloc.h>

#include "observe/timeline/density.hpp"
#include "random_timeline.hpp"
#include "svg_contents.hpp"

namespace overtake::timeline {
namespace {

void add(Density& density, const Timeline& timeline) {
    for (const Fc& fc : timeline.fcs)
        density.add(fc.core, fc.high, fc.task, fc.start_ns, fc.end_ns);
    for (const Preemption& preemption : timeline.preemptions)
        density.preempted(preemption.core, preemption.time_ns);
}

/// Calls `visit` with a time in each bin.
template <typename Visit>
void each_bin(const Density& density, Visit visit) {
    const std::uint64_t wide = density.bin_ns();
    for (std::uint64_t bin = density.first_ns() / wide; bin <= (density.last_ns() - 1) / wide;
         bin++)
        visit(bin, bin * wide);
}

/// Busy time by core, ring, task and bin, computed in the slow way.
using Reference = std::map<std::tuple<unsigned, bool, std::string, std::uint64_t>, std::uint64_t>;

Reference reference(const Timeline& timeline, std::uint64_t bin_ns) {
    Reference busy;
    for (const Fc& fc : timeline.fcs)
        for (std::uint64_t bin = fc.start_ns / bin_ns; bin <= (fc.end_ns - 1) / bin_ns; bin++)
            busy[{fc.core, fc.high, fc.task, bin}] +=
                std::min(fc.end_ns, (bin + 1) * bin_ns) - std::max(fc.start_ns, bin * bin_ns);
    return busy;
}

void expect_exact(const Density& density, const Timeline& timeline) {
    const Reference expected = reference(timeline, density.bin_ns());
    Reference found;
    for (unsigned core : density.cores())
        for (bool high : {false, true})
            for (std::size_t task = 0; task < density.tasks().size(); task++)
                each_bin(density, [&](std::uint64_t bin, std::uint64_t time) {
                    if (const auto busy = density.busy_ns(core, high, task, time))
                        found[{core, high, density.tasks()[task], bin}] = busy;
                });
    EXPECT_EQ(found, expected);
}

TEST(Density, CountsEveryNanosecondInItsBin) {
    for (unsigned fcs : {1u, 10u, 300u, 5000u}) {
        const Timeline timeline =
            random_timeline({.cores = 3, .fcs_per_core = fcs, .start_ns = 123'456'789}, fcs);
        Density density;
        add(density, timeline);
        expect_exact(density, timeline);
        EXPECT_EQ(density.first_ns(), 123'456'789u);
        EXPECT_EQ(density.last_ns(), end_of(timeline));
        const std::uint64_t bins =
            (density.last_ns() - 1) / density.bin_ns() - density.first_ns() / density.bin_ns() + 1;
        EXPECT_LE(bins, Density::max_bins);
        if (fcs >= 300) {
            EXPECT_GE(bins, Density::max_bins / 2);
        }
    }
}

TEST(Density, DoesNotDependOnTheOrder) {
    Timeline timeline = random_timeline({.cores = 2, .fcs_per_core = 2000}, 5);
    std::mt19937 random(1);
    std::shuffle(timeline.fcs.begin(), timeline.fcs.end(), random);
    std::shuffle(timeline.preemptions.begin(), timeline.preemptions.end(), random);
    Density density;
    add(density, timeline);
    expect_exact(density, timeline);
}

TEST(Density, CountsEveryPreemption) {
    const Timeline timeline = random_timeline({.cores = 2, .fcs_per_core = 3000}, 6);
    Density density;
    add(density, timeline);
    std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t> expected;
    for (const Preemption& preemption : timeline.preemptions)
        expected[{preemption.core, preemption.time_ns / density.bin_ns()}]++;
    ASSERT_GT(timeline.preemptions.size(), 100u);
    std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t> found;
    for (unsigned core : {1u, 2u, 3u})
        each_bin(density, [&](std::uint64_t bin, std::uint64_t time) {
            if (const auto preemptions = density.preemptions(core, time))
                found[{core, bin}] = preemptions;
        });
    EXPECT_EQ(found, expected);
}

TEST(Density, ReachesTheEndOfTime) {
    const std::uint64_t end = ~std::uint64_t{0};
    Density density;
    density.add(1, false, "first", 0, 10);
    density.add(1, false, "last", end - 10, end);
    density.add(1, false, "nothing", 5, 5);
    EXPECT_EQ(density.tasks(), (std::vector<std::string>{"first", "last"}));
    EXPECT_EQ(density.busy_ns(1, false, 0, 0), 10u);
    EXPECT_EQ(density.busy_ns(1, false, 1, end - 1), 10u);
    expect_tidy(inspect(to_svg(density, "all of time")));
}

TEST(Density, CountsTasksBeyondItsLimitAsOne) {
    Density density;
    for (unsigned task = 0; task < 100; task++)
        density.add(1, task % 2 == 1, fmt::format("task {}", task), task * 100, task * 100 + 10);
    ASSERT_EQ(density.tasks().size(), Density::max_tasks + 1);
    EXPECT_EQ(density.tasks().back(), "other tasks");
    std::uint64_t others = 0;
    each_bin(density, [&](std::uint64_t, std::uint64_t time) {
        for (bool high : {false, true})
            others += density.busy_ns(1, high, Density::max_tasks, time);
    });
    EXPECT_EQ(others, 10 * (100 - Density::max_tasks));
    expect_tidy(inspect(to_svg(density, "others")));
}

TEST(Density, MemoryDoesNotGrowWithTheRun) {
    Density density;
    const auto run = [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t at = from; at < to; at++) {
            density.add(1 + at % 2, at % 3 == 0, at % 5 == 0 ? "a" : "b", at * 1000,
                        at * 1000 + 900);
            density.preempted(1, at * 1000);
        }
    };
    run(0, 10'000);
    const auto before = mallinfo2().uordblks;
    run(10'000, 2'000'000);
    EXPECT_LE(mallinfo2().uordblks, before);
}

TEST(Density, PictureShowsALayerForEachCoreTaskAndRing) {
    Density density;
    density.add(1, false, "large", 0, 600'000);
    density.add(1, true, "detector <1>", 600'000, 1'000'000);
    density.add(2, false, "large", 500'000, 1'000'000);
    density.preempted(1, 600'000);
    density.preempted(1, 600'001);
    const auto contents = inspect(to_svg(density, "title & more"));
    expect_tidy(contents);
    EXPECT_EQ(contents["titles"]["layer"], nlohmann::json({"large on core 1, NORMAL: 600 µs",
                                                           "detector <1> on core 1, HIGH: 400 µs",
                                                           "large on core 2, NORMAL: 500 µs"}));
    EXPECT_EQ(contents["titles"]["preemptions"], nlohmann::json({"2 preemptions"}));
    std::map<std::string, int> texts;
    for (const std::string text : contents["texts"])
        texts[text]++;
    for (const char* words :
         {"title & more", "core 1", "core 2", "busy 100.0 %", "HIGH 40.0 %", "busy 50.0 %",
          "HIGH 0.0 %", "2 preempted", "0 preempted", "device time, µs"})
        EXPECT_EQ(texts[words], 1) << words;
}

TEST(Density, PictureIsTidyFromNothingToSixtyFourCores) {
    expect_tidy(inspect(to_svg(Density{}, "nothing")));
    for (unsigned cores : {1u, 5u, 9u, 64u}) {
        Density density;
        add(density, random_timeline({.cores = cores, .fcs_per_core = 200, .tasks = 12}, cores));
        expect_tidy(inspect(to_svg(density, std::string(300, 'W'))));
    }
}

} // namespace
} // namespace overtake::timeline
