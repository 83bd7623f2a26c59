// SPDX-License-Identifier: MIT
//
// The expected times of a model's segments, from its file.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "model_spec.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::test {
namespace {

/// Returns the expected time of each segment.
std::vector<std::uint64_t> expected_ns(const ModelSpec& spec) {
    const auto model = Model::from_bytes(build(spec));
    std::vector<std::uint64_t> times;
    for (const Segment& segment : ModelContents::of(*model).segments)
        times.push_back(segment.expected_ns);
    return times;
}

using Times = std::vector<std::uint64_t>;

TEST(ModelTimes, OfTheCpuAreThoseOfTheFile) {
    ModelSpec spec = copy_and_softmax(); // 400 cycles at 1 GHz
    EXPECT_EQ(expected_ns(spec), (Times{400, 0}));
    spec.segments[1].expected_ns = 12'345;
    EXPECT_EQ(expected_ns(spec), (Times{400, 12'345}));
}

TEST(ModelTimes, OfTheDeviceAreItsCyclesRoundedUpOnce) {
    ModelSpec spec = copy_and_softmax();
    spec.clock_khz = 800'000;
    spec.segments[0].fcs = {fbs::Fc(0, 1, 1), fbs::Fc(1, 1, 1)};
    EXPECT_EQ(expected_ns(spec)[0], 3u); // 2.5, rounded up
    spec.segments[0].fcs = {fbs::Fc(0, 1, 1), fbs::Fc(1, 1, 3)};
    EXPECT_EQ(expected_ns(spec)[0], 5u);
    spec.clock_khz = 1;
    EXPECT_EQ(expected_ns(spec)[0], 4'000'000u);
}

TEST(ModelTimes, AreNeverMoreThanASignedNumberHolds) {
    ModelSpec spec = copy_and_softmax();
    spec.segments[0].fcs = {fbs::Fc(0, 1, ~0ull), fbs::Fc(1, 1, ~0ull)};
    spec.segments[1].expected_ns = ~0ull;
    EXPECT_EQ(expected_ns(spec), (Times{INT64_MAX, INT64_MAX}));
    spec.clock_khz = 1;
    spec.segments[0].fcs = {fbs::Fc(0, 1, ~0ull), fbs::Fc(1, 1, 1)};
    spec.segments[1].expected_ns = 1ull << 63;
    EXPECT_EQ(expected_ns(spec), (Times{INT64_MAX, INT64_MAX}));
    spec.clock_khz = ~0u;
    spec.segments[0].fcs = {fbs::Fc(0, 1, ~0ull), fbs::Fc(1, 1, 0)};
    EXPECT_EQ(expected_ns(spec)[0], 4'294'967'297'000'000u); // exactly: (2^32 + 1) million
}

} // namespace
} // namespace overtake::test
