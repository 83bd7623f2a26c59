// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "load/statistics.hpp"

using namespace overtake;

namespace {

constexpr std::uint64_t ms = 1'000'000;

load::Request request(std::uint64_t due_ns, std::uint64_t done_ns, int status = 0) {
    load::Request made{due_ns, due_ns, done_ns, 0, 0, status};
    made.due_ns = due_ns;
    made.done_ns = done_ns;
    return made;
}

/// Requests that come every 10 ms, take these times, and run one after the other.
load::Outcome one_after_the_other(std::uint64_t count, std::uint64_t service_ns) {
    load::Outcome outcome;
    outcome.begin_ns = 1000 * ms;
    std::uint64_t free_ns = 0;
    for (std::uint64_t index = 0; index < count; index++) {
        const std::uint64_t due_ns = outcome.begin_ns + index * 10 * ms;
        free_ns = std::max(free_ns, due_ns) + service_ns;
        outcome.requests.push_back(request(due_ns, free_ns));
    }
    outcome.end_ns = outcome.begin_ns + count * 10 * ms;
    return outcome;
}

} // namespace

TEST(Percentile, IsTheNearestRank) {
    std::vector<std::uint64_t> values(200);
    std::iota(values.begin(), values.end(), 1);
    EXPECT_EQ(load::percentile(values, 50), 100u);
    EXPECT_EQ(load::percentile(values, 99), 198u);
    EXPECT_EQ(load::percentile(values, 99.9), 200u);
    EXPECT_EQ(load::percentile(values, 100), 200u);
    EXPECT_EQ(load::percentile(values, 0.1), 1u);
    EXPECT_EQ(load::percentile(std::vector<std::uint64_t>{7}, 99), 7u);
}

TEST(Percentile, LeavesSoManyValuesBeyondIt) {
    std::mt19937_64 random(5);
    for (const std::size_t count : {1u, 9u, 10u, 99u, 100u, 999u, 1000u, 10000u}) {
        std::vector<std::uint64_t> values(count);
        std::ranges::generate(values, [&] { return random(); });
        std::ranges::sort(values);
        for (const double percent : {50.0, 90.0, 95.0, 99.0, 99.9, 100.0}) {
            const std::uint64_t found = load::percentile(values, percent);
            const auto beyond = static_cast<std::size_t>(
                std::ranges::count_if(values, [&](std::uint64_t value) { return value > found; }));
            EXPECT_EQ(load::beyond(count, percent), beyond) << count << ", " << percent;
            // At least `percent` of the values are not above `found`; with one value less they
            // would be fewer.
            const double part = static_cast<double>(count - beyond) / static_cast<double>(count);
            EXPECT_GE(part * 100, percent - 1e-9);
            EXPECT_LT((part - 1.0 / static_cast<double>(count)) * 100, percent);
        }
    }
    EXPECT_EQ(load::beyond(10000, 99.9), 10u);
    EXPECT_EQ(load::beyond(9999, 99.9), 9u);
}

TEST(Latencies, LeaveOutWhatFailed) {
    const std::vector<load::Request> requests = {{10, 10, 40, 30, 0, 0, 5, 44},
                                                 {20, 0, 25, 0, 0, -62, 15, 26},
                                                 {30, 40, 50, 10, 0, 0, 28, 50}};
    EXPECT_EQ(load::latencies(requests), (std::vector<std::uint64_t>{20, 30}));
    EXPECT_EQ(load::response_times(requests), (std::vector<std::uint64_t>{22, 39}));
}

TEST(Latencies, BeginWithTheArrivalWhereTheHostWasLate) {
    // Two of these arrive before they are due at 30 and 60; the last one uses the CPU alone and
    // arrives nowhere.
    const std::vector<load::Request> requests = {{10, 10, 20, 10, 0, 0, 30, 25},
                                                 {50, 60, 70, 10, 0, 0, 60, 75},
                                                 {60, 60, 70, 10, 0, 0, 60, 80},
                                                 {0, 0, 0, 0, 0, 0, 40, 90}};
    EXPECT_EQ(load::response_time(requests[0]), 15u);
    EXPECT_EQ(load::response_times(requests), (std::vector<std::uint64_t>{15, 20, 25, 50}));
    EXPECT_EQ(load::count_early(requests), 2u);
}

TEST(Histogram, CountsEachValueOnce) {
    std::mt19937_64 random(7);
    for (const std::uint64_t spread : {0u, 1u, 900u, 5'000u, 3'000'000u, 4'000'000'000u}) {
        std::vector<std::uint64_t> values;
        for (int count = 0; count < 500; count++)
            values.push_back(2 * ms + (spread == 0 ? 0 : random() % spread));
        std::ranges::sort(values);
        const auto bins = load::histogram(values);
        ASSERT_FALSE(bins.empty());
        EXPECT_LE(bins.front().from_ns, values.front());
        EXPECT_GT(bins.front().to_ns, values.front()); // no bin at an end is empty
        EXPECT_LE(bins.back().from_ns, values.back());
        EXPECT_GT(bins.back().to_ns, values.back());
        EXPECT_LE(bins.size(), 20u);
        for (std::size_t index = 0; index < bins.size(); index++) {
            if (index > 0) {
                EXPECT_EQ(bins[index].from_ns, bins[index - 1].to_ns);
            }
            const auto inside = std::ranges::count_if(values, [&](std::uint64_t value) {
                return value >= bins[index].from_ns && value < bins[index].to_ns;
            });
            EXPECT_EQ(bins[index].count, static_cast<std::size_t>(inside));
        }
    }
    EXPECT_TRUE(load::histogram({}).empty());
}

TEST(Histogram, HasRoundBorders) {
    const auto narrow = load::histogram(std::vector<std::uint64_t>{21 * ms / 10, 3 * ms, 4 * ms});
    EXPECT_EQ(narrow.front().from_ns, 2 * ms);
    EXPECT_EQ(narrow.front().to_ns, 22 * ms / 10);
    EXPECT_EQ(narrow.size(), 11u);
    const auto wide = load::histogram(std::vector<std::uint64_t>{3 * ms, 45 * ms, 700 * ms});
    std::vector<std::uint64_t> borders;
    for (const load::Bin& bin : wide)
        borders.push_back(bin.from_ns / ms);
    EXPECT_EQ(borders, (std::vector<std::uint64_t>{2, 5, 10, 20, 50, 100, 200, 500}));
}

TEST(Rates, SayWhatWasServedOfWhatWasOffered) {
    const load::Rates enough = load::rates(one_after_the_other(100, 4 * ms), 10'000);
    EXPECT_DOUBLE_EQ(enough.offered, 100);
    EXPECT_DOUBLE_EQ(enough.served, 100);
    EXPECT_FALSE(enough.overloaded);
    const load::Rates too_slow = load::rates(one_after_the_other(100, 25 * ms), 10'000);
    EXPECT_DOUBLE_EQ(too_slow.offered, 100);
    EXPECT_DOUBLE_EQ(too_slow.served, 40);
    EXPECT_TRUE(too_slow.overloaded);
}

TEST(Rates, AShortRunOfLongRequestsIsNoOverload) {
    // Each request takes 35 ms, and none waits for another.
    load::Outcome outcome;
    for (std::uint64_t index = 0; index < 10; index++)
        outcome.requests.push_back(request(index * 10 * ms, index * 10 * ms + 35 * ms));
    const load::Rates rates = load::rates(outcome, 10'000);
    EXPECT_LT(rates.served, 95);
    EXPECT_FALSE(rates.overloaded);
}

TEST(Rates, WhatWasNeverBegunIsOfferedToo) {
    load::Outcome outcome = one_after_the_other(100, 25 * ms);
    while (outcome.requests.back().done_ns > outcome.end_ns)
        outcome.requests.pop_back();
    outcome.waiting = 100 - outcome.requests.size();
    const load::Rates rates = load::rates(outcome, 10'000);
    EXPECT_DOUBLE_EQ(rates.served, 40);
    EXPECT_TRUE(rates.overloaded);
}

TEST(Rates, OfNothingAreZero) {
    EXPECT_EQ(load::rates({}, 10'000).served, 0);
    load::Outcome failed;
    failed.requests = {request(0, 5 * ms, -5)};
    EXPECT_EQ(load::rates(failed, 10'000).served, 0);
    EXPECT_FALSE(load::rates(failed, 10'000).overloaded);
}
