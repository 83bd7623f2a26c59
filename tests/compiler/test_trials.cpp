// SPDX-License-Identifier: MIT
#include "compiler/accuracy/trials.hpp"

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/error.hpp"
#include "compiler/quantise/calibrate.hpp"
#include "convolution_chain.hpp"

namespace overtake::compiler {
namespace {

class TrialsOfASmallNetwork : public ::testing::Test {
protected:
    TrialsOfASmallNetwork() {
        network_->graph = test::chain(2, 4, 1);
        for (std::size_t number = 0; number < 100; ++number)
            samples_.push_back({std::vector<float>(16, 1 + static_cast<float>(number))});
        options_.accuracy = 0.9;
    }

    Trials trials(const Graph& like) { return {like, samples_, options_, *device_, progress_}; }

    enum class Ranges { fit, miss, wide };

    // Makes a network that is near float, one whose outputs are all far beyond its range, or one
    // whose steps are 4 wide.
    Trials::Make make(Ranges of) {
        return [this, of](const Samples& samples) -> std::optional<Trial> {
            asked_.push_back(samples.size());
            const Calibration calibration(network_->graph, samples, CalibrationMethod::min_max,
                                          [](double) {});
            std::vector<Range> ranges = calibration.ranges(CalibrationMethod::min_max, 100);
            if (of == Ranges::miss)
                ranges[1] = {-1000, -999};
            if (of == Ranges::wide)
                ranges = {{0, 1000}, {0, 1000}};
            Trial trial;
            trial.network = network_;
            trial.candidate = make_candidate(network_->graph, calibration, ranges, false);
            return trial;
        };
    }

    const Graph small_ = test::chain(2, 4, 1), large_ = test::chain(512, 64, 4);
    std::shared_ptr<PreparedNetwork> network_ = std::make_shared<PreparedNetwork>();
    Samples samples_;
    CompileOptions options_;
    const std::shared_ptr<const DeviceProfile> device_ = find_profile("default");
    const Progress progress_;
    std::vector<std::size_t> asked_; // the number of samples of each trial that was made
};

TEST_F(TrialsOfASmallNetwork, SmallNetworksAreComparedByAllSamples) {
    Trials some = trials(small_);
    const auto trial = some.attempt("one", make(Ranges::fit));
    ASSERT_TRUE(trial);
    EXPECT_TRUE(trial->reaches);
    EXPECT_EQ(asked_, std::vector<std::size_t>{100});
    EXPECT_EQ(some.report.attempts.at(0).samples, 100u);
    EXPECT_EQ(some.report.attempts[0].what, "one");
    EXPECT_EQ(some.report.attempts[0].outputs.size(), 1u);
}

TEST_F(TrialsOfASmallNetwork, OfLargeNetworksAllSamplesSettleWhatAFewSay) {
    Trials some = trials(large_);
    EXPECT_TRUE(some.attempt("near", make(Ranges::fit))->reaches);
    EXPECT_EQ(asked_, (std::vector<std::size_t>{16, 100}));
    EXPECT_FALSE(some.attempt("far", make(Ranges::miss))->reaches);
    EXPECT_EQ(asked_, (std::vector<std::size_t>{16, 100, 16}));
    EXPECT_EQ(some.report.attempts.at(0).samples, 100u);
    EXPECT_EQ(some.report.attempts.at(1).samples, 16u);
}

TEST_F(TrialsOfASmallNetwork, AFewDecisionsSettleNothing) {
    options_.decisions = {"1"};
    for (FloatValues& sample : samples_)
        sample[0].assign(16, 100);
    std::get<op::Convolution>(network_->graph.nodes[0].operation).bias = {0, 0.5f, 0, 0};
    Trials some = trials(large_);
    const auto trial = some.attempt("near, though all channels are one number", make(Ranges::wide));
    ASSERT_TRUE(trial);
    EXPECT_GT(trial->outputs.at(0).cosine, 0.999f);
    EXPECT_EQ(trial->outputs[0].same_decisions, 0);
    EXPECT_FALSE(trial->reaches);
    EXPECT_EQ(asked_, (std::vector<std::size_t>{16, 100}));
}

TEST_F(TrialsOfASmallNetwork, StepsOfASequenceAreAllCompared) {
    options_.states = {"1=0"};
    Trials some = trials(large_);
    EXPECT_TRUE(some.attempt("steps", make(Ranges::fit)));
    EXPECT_EQ(asked_.at(0), 100u);
}

TEST_F(TrialsOfASmallNetwork, WhatThrowsIsWrittenDown) {
    Trials some = trials(small_);
    EXPECT_FALSE(some.attempt(
        "broken", [](const Samples&) -> std::optional<Trial> { throw CompileError("m", "is"); }));
    EXPECT_FALSE(some.attempt(
        "large", [](const Samples&) -> std::optional<Trial> { throw std::bad_alloc(); }));
    EXPECT_FALSE(some.attempt("nothing", [](const Samples&) { return std::optional<Trial>(); }));
    ASSERT_EQ(some.report.attempts.size(), 2u);
    EXPECT_EQ(some.report.attempts[0].refusal, "m: is");
    EXPECT_EQ(some.report.attempts[1].refusal, "there is not enough memory for it");
}

TEST(OutputNearness, HasTheSmallerShareOfDecisions) {
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    const auto nearness = [](float same, float expected) {
        return OutputNearness{1, none, same, expected};
    };
    EXPECT_EQ(nearness(0.5f, 0.75f).least(), 0.5f);
    EXPECT_EQ(nearness(0.75f, 0.5f).least(), 0.5f);
    EXPECT_EQ(nearness(0.75f, none).least(), 0.75f) << "many decisions are only counted";
    EXPECT_EQ(nearness(none, none).least(), 1);
}

} // namespace
} // namespace overtake::compiler
