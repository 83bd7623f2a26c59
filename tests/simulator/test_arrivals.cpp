// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "simulator/arrivals.hpp"

namespace overtake::simulator {
namespace {

constexpr std::uint64_t time_max = std::uint64_t{1} << 63;

Load load_of(Arrivals arrivals) {
    Load load{};
    load.arrivals = arrivals;
    load.until = time_max;
    return load;
}

Load periodic(std::uint64_t period) {
    Load load = load_of(Arrivals::periodic);
    load.period = period;
    return load;
}

Load poisson(double mean) {
    Load load = load_of(Arrivals::poisson);
    load.mean = mean;
    return load;
}

Load log_normal(double mean, double sigma) {
    Load load = load_of(Arrivals::log_normal);
    load.mean = mean;
    load.sigma = sigma;
    return load;
}

/// Returns at most `limit` arrivals of a load that does not wait for the ends of its tasks.
std::vector<std::uint64_t> arrivals(const Load& load, std::uint64_t seed = 1,
                                    std::size_t limit = 1'000'000) {
    ArrivalSource source(load, seed);
    std::vector<std::uint64_t> times;
    while (source.next() != ArrivalSource::never && times.size() < limit) {
        times.push_back(source.next());
        source.take();
    }
    return times;
}

using Times = std::vector<std::uint64_t>;

TEST(PeriodicArrivals, KeepTheirPeriod) {
    Load load = periodic(100);
    load.count = 4;
    EXPECT_EQ(arrivals(load), (Times{0, 100, 200, 300}));
    load.start = 1000;
    load.phase = 7;
    EXPECT_EQ(arrivals(load), (Times{1007, 1107, 1207, 1307}));
}

TEST(PeriodicArrivals, JitterDelaysEachByItself) {
    Load load = periodic(100);
    load.jitter = 30;
    load.count = 2000;
    const Times times = arrivals(load);
    ASSERT_EQ(times.size(), 2000u);
    std::uint64_t least = 100;
    std::uint64_t most = 0;
    double sum = 0;
    for (std::size_t i = 0; i < times.size(); i++) {
        ASSERT_GE(times[i], i * 100);
        const std::uint64_t late = times[i] - i * 100;
        least = std::min(least, late);
        most = std::max(most, late);
        sum += static_cast<double>(late);
    }
    EXPECT_EQ(least, 0u);
    EXPECT_EQ(most, 30u);
    EXPECT_NEAR(sum / 2000, 15, 1);
}

TEST(Arrivals, EndAtUntilAndAtCount) {
    Load load = periodic(100);
    load.until = 300;
    EXPECT_EQ(arrivals(load), (Times{0, 100, 200}));
    load.until = 301;
    EXPECT_EQ(arrivals(load), (Times{0, 100, 200, 300}));
    load.count = 2;
    EXPECT_EQ(arrivals(load), (Times{0, 100}));
    load.phase = 400;
    EXPECT_EQ(arrivals(load), Times{});
}

TEST(Arrivals, EndWithTime) {
    Load load = periodic(std::uint64_t{1} << 62);
    EXPECT_EQ(arrivals(load), (Times{0, std::uint64_t{1} << 62}));
    load.start = ~std::uint64_t{0} - 1;
    EXPECT_EQ(arrivals(load), Times{});
    load = poisson(1e300);
    EXPECT_LE(arrivals(load).size(), 1u);
}

TEST(Arrivals, OfOneSeedAreTheSameAndOfAnotherAreNot) {
    Load jittered = periodic(1000);
    jittered.jitter = 1000;
    for (Load load : {jittered, poisson(1000), log_normal(1000, 1)}) {
        load.count = 100;
        EXPECT_EQ(arrivals(load, 5), arrivals(load, 5));
        EXPECT_NE(arrivals(load, 5), arrivals(load, 6));
        const Times all = arrivals(load, 5);
        load.count = 50;
        EXPECT_EQ(arrivals(load, 5), Times(all.begin(), all.begin() + 50));
    }
}

TEST(Arrivals, OfRandomGapsAreInOrder) {
    for (const Load& load : {poisson(3), log_normal(3, 2)}) {
        const Times times = arrivals(load, 1, 20'000);
        ASSERT_EQ(times.size(), 20'000u);
        EXPECT_TRUE(std::ranges::is_sorted(times));
    }
}

struct Moments {
    double mean;
    double deviation;
};

Moments of_gaps(const Times& times, std::uint64_t start) {
    double sum = 0;
    double squares = 0;
    std::uint64_t before = start;
    for (const std::uint64_t time : times) {
        const auto gap = static_cast<double>(time - before);
        sum += gap;
        squares += gap * gap;
        before = time;
    }
    const auto count = static_cast<double>(times.size());
    return {sum / count, std::sqrt(squares / count - sum / count * sum / count)};
}

TEST(PoissonArrivals, HaveExponentialGaps) {
    Load load = poisson(10'000);
    load.start = 500;
    load.count = 100'000;
    const Times times = arrivals(load);
    const Moments gaps = of_gaps(times, load.start);
    EXPECT_NEAR(gaps.mean, 10'000, 150);
    EXPECT_NEAR(gaps.deviation, 10'000, 200);
    // 1 - 1/e of the gaps are below their mean.
    std::size_t below = 0;
    for (std::size_t i = 1; i < times.size(); i++)
        below += times[i] - times[i - 1] < 10'000;
    EXPECT_NEAR(static_cast<double>(below) / 100'000, 1 - std::exp(-1), 0.005);
}

TEST(LogNormalArrivals, HaveGapsOfTheMeanAskedFor) {
    const double sigma = 0.8;
    Load load = log_normal(10'000, sigma);
    load.count = 100'000;
    const Times times = arrivals(load);
    const Moments gaps = of_gaps(times, 0);
    EXPECT_NEAR(gaps.mean, 10'000, 150);
    EXPECT_NEAR(gaps.deviation, 10'000 * std::sqrt(std::exp(sigma * sigma) - 1), 400);
    // Half of the gaps are below exp(mu).
    std::size_t below = 0;
    for (std::size_t i = 1; i < times.size(); i++)
        below +=
            static_cast<double>(times[i] - times[i - 1]) < 10'000 * std::exp(-sigma * sigma / 2);
    EXPECT_NEAR(static_cast<double>(below) / 100'000, 0.5, 0.005);
}

TEST(ClosedLoopArrivals, FollowTheEnds) {
    Load load = load_of(Arrivals::closed_loop);
    load.depth = 2;
    load.think = 10;
    load.start = 100;
    load.count = 4;
    ArrivalSource source(load, 1);
    EXPECT_EQ(source.next(), 100u);
    source.take();
    EXPECT_EQ(source.next(), 100u);
    source.take();
    EXPECT_EQ(source.next(), ArrivalSource::never);
    source.task_ended(150);
    EXPECT_EQ(source.next(), 160u);
    source.task_ended(170);
    source.take();
    EXPECT_EQ(source.next(), 180u);
    source.take();
    source.task_ended(200);
    EXPECT_EQ(source.next(), ArrivalSource::never) << "count";
}

TEST(ClosedLoopArrivals, EndAtUntil) {
    Load load = load_of(Arrivals::closed_loop);
    load.think = 10;
    load.until = 100;
    ArrivalSource source(load, 1);
    EXPECT_EQ(source.next(), 0u);
    source.take();
    source.task_ended(89);
    EXPECT_EQ(source.next(), 99u);
    source.take();
    source.task_ended(100);
    EXPECT_EQ(source.next(), ArrivalSource::never);
}

TEST(OtherArrivals, DoNotCareAboutEnds) {
    Load load = periodic(100);
    load.count = 2;
    ArrivalSource source(load, 1);
    source.task_ended(5);
    EXPECT_EQ(source.next(), 0u);
    source.take();
    source.task_ended(50);
    EXPECT_EQ(source.next(), 100u);
}

TEST(TraceArrivals, AreThoseOfTheTraceAfterTheStart) {
    Load load = load_of(Arrivals::trace);
    load.trace = {0, 5, 5, 70};
    EXPECT_EQ(arrivals(load), (Times{0, 5, 5, 70}));
    load.start = 1000;
    EXPECT_EQ(arrivals(load), (Times{1000, 1005, 1005, 1070}));
    load.until = 1070;
    EXPECT_EQ(arrivals(load), (Times{1000, 1005, 1005}));
    load.count = 1;
    EXPECT_EQ(arrivals(load), (Times{1000}));
}

} // namespace
} // namespace overtake::simulator
