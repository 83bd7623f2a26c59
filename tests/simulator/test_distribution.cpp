// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "simulator/distribution.hpp"
#include "simulator/random.hpp"

namespace overtake::simulator {
namespace {

constexpr std::size_t exact_values = 65536;

Distribution distribution_of(const std::vector<std::uint64_t>& values) {
    Distribution distribution;
    for (const std::uint64_t value : values)
        distribution.add(value);
    return distribution;
}

/// The definition: the smallest value that at least `percent` of the values do not exceed.
std::uint64_t nearest_rank(const std::vector<std::uint64_t>& sorted, double percent) {
    for (std::size_t i = 0; i < sorted.size(); i++)
        if (100.0 * static_cast<double>(i + 1) >=
            percent * static_cast<double>(sorted.size()) * (1 - 1e-12))
            return sorted[i];
    return sorted.back();
}

TEST(Distribution, OfNothingIsZero) {
    const Distribution none;
    EXPECT_EQ(none.count(), 0u);
    EXPECT_EQ(none.max(), 0u);
    EXPECT_EQ(none.mean(), 0);
    EXPECT_EQ(none.percentile(50), 0u);
    EXPECT_TRUE(none.exact());
}

TEST(Distribution, PercentilesAreNearestRank) {
    struct Row {
        const char* description;
        std::vector<std::uint64_t> values;
        double percent;
        std::uint64_t expected;
    };
    const std::vector<Row> rows = {
        {"one value, lowest", {7}, 0.1, 7},
        {"one value, highest", {7}, 100, 7},
        {"median of two is the lower", {20, 10}, 50, 10},
        {"just above the half", {20, 10}, 50.1, 20},
        {"median of three", {30, 10, 20}, 50, 20},
        {"p90 of ten", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 90, 9},
        {"p99 of ten", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 99, 10},
        {"p100", {5, 1, 3}, 100, 5},
        {"zeros count", {0, 0, 0, 9}, 75, 0},
    };
    for (const Row& row : rows)
        EXPECT_EQ(distribution_of(row.values).percentile(row.percent), row.expected)
            << row.description;
}

TEST(Distribution, ValuesMayFollowAPercentile) {
    Distribution distribution = distribution_of({30, 10});
    EXPECT_EQ(distribution.percentile(50), 10u);
    distribution.add(1);
    distribution.add(2);
    EXPECT_EQ(distribution.percentile(50), 2u);
    EXPECT_EQ(distribution.percentile(100), 30u);
}

TEST(Distribution, IsExactAsLongAsItSays) {
    Random random(1);
    Distribution distribution;
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < exact_values; i++) {
        values.push_back(random.next() >> random.below(64));
        distribution.add(values.back());
    }
    ASSERT_TRUE(distribution.exact());
    std::ranges::sort(values);
    for (const double percent : {0.001, 1.0, 33.3, 50.0, 90.0, 99.0, 99.9, 99.999, 100.0})
        EXPECT_EQ(distribution.percentile(percent), nearest_rank(values, percent)) << percent;
    distribution.add(1);
    EXPECT_FALSE(distribution.exact());
}

TEST(Distribution, BeyondThatItIsTooLargeByLessThanTheBound) {
    Random random(2);
    Distribution distribution;
    std::vector<std::uint64_t> values;
    // Values of every magnitude up to 2^62, so that each width of bucket is used.
    for (std::size_t i = 0; i < 3 * exact_values; i++) {
        values.push_back(random.below(std::uint64_t{1} << (i % 63)));
        distribution.add(values.back());
    }
    ASSERT_FALSE(distribution.exact());
    std::ranges::sort(values);
    EXPECT_EQ(distribution.count(), values.size());
    EXPECT_EQ(distribution.max(), values.back());
    for (double percent = 0.5; percent <= 100; percent += 0.5) {
        const std::uint64_t exact = nearest_rank(values, percent);
        const std::uint64_t told = distribution.percentile(percent);
        EXPECT_GE(told, exact) << percent;
        EXPECT_LE(told - exact, exact / 2048) << percent;
        EXPECT_LE(told, values.back()) << percent;
    }
}

TEST(Distribution, SmallValuesStayExactInBuckets) {
    Distribution distribution;
    for (std::size_t i = 0; i < 40 * 4096; i++)
        distribution.add(i % 4096);
    ASSERT_FALSE(distribution.exact());
    for (std::uint64_t value = 0; value < 4096; value++)
        ASSERT_EQ(distribution.percentile(100.0 * static_cast<double>(value + 1) / 4096), value);
}

TEST(Distribution, BucketsReachTheLargestValue) {
    Distribution distribution;
    for (std::size_t i = 0; i < 2 * exact_values; i++)
        distribution.add(i % 2 == 0 ? ~std::uint64_t{0} : 1);
    EXPECT_EQ(distribution.percentile(50), 1u);
    EXPECT_EQ(distribution.percentile(51), ~std::uint64_t{0});
    EXPECT_EQ(distribution.max(), ~std::uint64_t{0});
}

TEST(Distribution, MeanIsOfAllValues) {
    Distribution distribution;
    for (std::uint64_t i = 1; i <= 100'000; i++)
        distribution.add(i);
    EXPECT_EQ(distribution.sum(), 100'000ull * 100'001 / 2);
    EXPECT_DOUBLE_EQ(distribution.mean(), 50'000.5);
}

TEST(Distribution, CountsTheValuesThatAPercentileRestsOn) {
    EXPECT_EQ(Distribution::samples_of(99, 0), 0u);
    EXPECT_EQ(Distribution::samples_of(50, 1), 1u);
    EXPECT_EQ(Distribution::samples_of(99, 900), 10u);
    EXPECT_EQ(Distribution::samples_of(99, 899), 9u);
    EXPECT_EQ(Distribution::samples_of(99.9, 9000), 10u);
    EXPECT_EQ(Distribution::samples_of(50, 18), 10u);
}

} // namespace
} // namespace overtake::simulator
