// SPDX-License-Identifier: MIT
//
// Balanced shares: the positions that move between cores, and the prices by which they move.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "compiler/cores/balance.hpp"
#include "compiler/cores/search.hpp"
#include "layer_shapes.hpp"

using namespace overtake::compiler;
using namespace overtake::test;

namespace {

double longest_ns(const overtake_insn& insn, const Shares& shares, const Cores& cores) {
    const SharePrice price = model_price(cores);
    double longest = 0;
    for (std::size_t core = 0; core < cores.size(); ++core)
        longest = std::max(longest, price(insn, shares[core], core));
    return longest;
}

} // namespace

TEST(Balance, MovesPositionsFromSlowCoresToFastOnes) {
    const Cores cores{core_of(1, 0), core_of(1, 0), core_of(2, 0)};
    const overtake_insn insn = convolution(40, 40);
    // All cores count as equally fast.
    const double speeds[] = {1, 1, 1};
    const auto first = shares(insn, Scheme::balanced, speeds);
    const auto shared = balance(insn, speeds, model_price(cores), {});
    ASSERT_TRUE(first && shared);
    EXPECT_LT(longest_ns(insn, *shared, cores), 0.65 * longest_ns(insn, *first, cores));
    const double alone = model_price(cores)(insn, std::vector{whole(insn)}, 0);
    EXPECT_LT(longest_ns(insn, *shared, cores), 1.05 * alone / 2.5);
}

TEST(Balance, EndsWithinTheThreshold) {
    const Cores cores{core_of(1, 0), core_of(3, 0)};
    const overtake_insn insn = convolution(60, 60);
    const double speeds[] = {1, 1};
    const SharePrice price = model_price(cores);
    for (const double threshold : {0.3, 0.02}) {
        const auto shared = balance(insn, speeds, price, {0, threshold, 64});
        ASSERT_TRUE(shared);
        const double a = price(insn, (*shared)[0], 0), b = price(insn, (*shared)[1], 1);
        EXPECT_LE(std::max(a, b) - std::min(a, b), threshold * std::max(a, b));
    }
}

TEST(Balance, TheBestSharesThatWereSeenCount) {
    // Moves of half of all positions only make the shares worse.
    const Cores cores{core_of(1, 0), core_of(2, 0)};
    const overtake_insn insn = convolution(40, 40);
    const double speeds[] = {3, 1};
    const auto begun = shares(insn, Scheme::balanced, speeds);
    for (const std::uint32_t rounds : {0, 1, 2, 3})
        EXPECT_LE(
            longest_ns(insn, *balance(insn, speeds, model_price(cores), {800, 0, rounds}), cores),
            longest_ns(insn, *begun, cores))
            << rounds;
}

TEST(Balance, AStepOfMoreThanThereIsMovesWhatThereIs) {
    const Cores cores{core_of(1, 0), core_of(1, 0), core_of(4, 0)};
    const overtake_insn insn = convolution(40, 40);
    const double speeds[] = {1, 1, 1};
    const auto begun = shares(insn, Scheme::balanced, speeds);
    const auto shared = balance(insn, speeds, model_price(cores), {1'000'000, 0.02, 64});
    ASSERT_TRUE(begun && shared);
    EXPECT_LT(longest_ns(insn, *shared, cores), 0.5 * longest_ns(insn, *begun, cores));
}

TEST(Balance, APriceIsThatOfAllBoxesByTheClockOfTheirCore) {
    const Cores cores{core_of(1, 0), core_of(4, 0)};
    const ModelPrices prices(cores, 0);
    const overtake_insn insn = convolution(20, 20);
    const std::vector<Box> boxes{{0, 1, 5, 15, 0, 32}, {1, 3, 0, 20, 0, 32}, {}};
    for (const std::size_t core : {0, 1}) {
        const double price = share_price(prices, cores)(insn, boxes, core);
        EXPECT_EQ(price, model_price(cores)(insn, boxes, core));
        double sum = 0;
        for (const Box& box : std::span(boxes).first(2))
            sum += static_cast<double>(piece_cost(insn, box, *cores[core])) * (core == 0 ? 1 : 4);
        EXPECT_EQ(price, sum);
    }
}

TEST(Balance, LooksNoMoreOftenThanItMay) {
    const Cores cores{core_of(1, 0), core_of(4, 0)};
    const overtake_insn insn = convolution(50, 50);
    const double speeds[] = {1, 1};
    std::size_t looks = 0;
    const SharePrice counting = [&](const overtake_insn& of, std::span<const Box> boxes,
                                    std::size_t core) {
        ++looks;
        return model_price(cores)(of, boxes, core);
    };
    ASSERT_TRUE(balance(insn, speeds, counting, {1, 0, 10}));
    EXPECT_EQ(looks, 2u * 11);
}

TEST(Balance, TakesWhatIsMeasuredForWhatItIs) {
    // A core that takes twice as long as its speed predicts.
    const Cores cores{core_of(1, 0), core_of(1, 0)};
    const overtake_insn insn = convolution(64, 64);
    const double speeds[] = {1, 1};
    const SharePrice measured = [&](const overtake_insn& of, std::span<const Box> boxes,
                                    std::size_t core) {
        return model_price(cores)(of, boxes, core) * (core == 1 ? 2 : 1);
    };
    const auto shared = balance(insn, speeds, measured, {});
    ASSERT_TRUE(shared);
    std::uint64_t parts[2] = {};
    for (std::size_t core = 0; core < 2; ++core)
        for (const Box& box : (*shared)[core])
            parts[core] += elements(box);
    EXPECT_NEAR(static_cast<double>(parts[0]) / static_cast<double>(parts[1]), 2, 0.1);
}

TEST(Balance, OfASearchIsByThePriceOfSharesThatItIsGiven) {
    SegmentLayers segment;
    segment.layers.emplace_back().step.insn = convolution(64, 64);
    const Cores cores(2, core_of(1, 0));
    const SharePrice measured = [&](const overtake_insn& of, std::span<const Box> boxes,
                                    std::size_t core) {
        return model_price(cores)(of, boxes, core) * (core == 1 ? 2 : 1);
    };
    SearchOptions options{cores, {}, 0, {Scheme::balanced}};
    const auto first_part = [&] {
        const Block block = search(segment, options).blocks.at(0);
        std::uint64_t part = 0;
        for (const Box& box : block.shares[0])
            part += elements(box);
        return static_cast<double>(part) /
               static_cast<double>(elements(whole(segment.layers[0].step.insn)));
    };
    EXPECT_NEAR(first_part(), 1.0 / 2, 0.01);
    options.share_price = &measured;
    EXPECT_NEAR(first_part(), 2.0 / 3, 0.02);
    options.balance.threshold = 1; // nothing counts as out of balance
    EXPECT_NEAR(first_part(), 1.0 / 2, 0.01);
}
