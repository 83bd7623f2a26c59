// SPDX-License-Identifier: MIT
//
// Warnings of the compiler that a host takes long to compute one FC of a network.
#include "compiler/lower/host_time.hpp"

#include <string>

#include <gtest/gtest.h>

#include "compiler/lower/lower.hpp"
#include "compiler/lower/split.hpp"
#include "convolution_chain.hpp"

using namespace overtake::compiler;

namespace {

constexpr std::uint64_t s = 1'000'000'000;

// Each convolution takes 2.4 GMAC.
Graph convolutions(std::size_t length) {
    return overtake::test::chain(256, 64, length);
}

Program split_at(const Graph& graph, const ovt_profile& profile, std::uint64_t us) {
    Program program =
        lower(graph, quantise(graph, choose_quantisations(
                                         graph, std::vector<Range>(graph.values.size(), {-1, 1}))));
    split(graph, program, profile, us * profile.clock_khz / 1000);
    return program;
}

/// Returns the number behind --max-time-per-fc; 0 if there is none.
std::uint64_t advised(const std::string& text) {
    const std::string option = "--max-time-per-fc ";
    const std::size_t at = text.find(option);
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + option.size()));
}

} // namespace

TEST(HostTime, ProductsTakeWhatTheTableOfOperatorsSays) {
    const Graph graph = convolutions(4); // 9.7 GMAC
    const Program program = split_at(graph, *ovt_profile_find("default"), 0);
    EXPECT_GT(longest_host_ns(program, HostPath::scalar), 3 * s);
    EXPECT_LT(longest_host_ns(program, HostPath::scalar), 5 * s);
    EXPECT_GT(longest_host_ns(program, HostPath::avx2), s / 10);
    EXPECT_LT(longest_host_ns(program, HostPath::avx2), s / 4);
}

TEST(HostTime, AnFcNearTheClockIsWarnedOfWithTheValueToUse) {
    const ovt_profile& profile = *ovt_profile_find("default");
    const Graph graph = convolutions(4);
    const Program whole = split_at(graph, profile, 0);
    EXPECT_EQ(long_fc_warning(graph, whole, profile, HostPath::avx2), "");
    const std::string text = long_fc_warning(graph, whole, profile, HostPath::scalar);
    EXPECT_NE(text.find("an estimate, without AVX2"), std::string::npos) << text;
    EXPECT_EQ(advised(text), 2000u) << text;
    const Program parts = split_at(graph, profile, 2000);
    EXPECT_EQ(long_fc_warning(graph, parts, profile, HostPath::scalar), "");
    EXPECT_LE(longest_host_ns(parts, HostPath::scalar), s / 2);
}

TEST(HostTime, AnInferenceNearTheQueueTimeoutIsWarnedOf) {
    const ovt_profile& profile = *ovt_profile_find("default");
    const Program parts = split_at(convolutions(8), profile, 2000);
    EXPECT_EQ(long_job_warning(parts, HostPath::avx2), "");
    const std::string text = long_job_warning(parts, HostPath::scalar);
    EXPECT_NE(text.find("(queue_timeout_ms, --queue-timeout-ms)"), std::string::npos) << text;
    EXPECT_NE(text.find("after 10 s in flight"), std::string::npos) << text;
}

TEST(HostTime, ALimitThatIsTooHighIsWarnedOfAsWell) {
    const ovt_profile& profile = *ovt_profile_find("default");
    const Graph graph = convolutions(4);
    const Program parts = split_at(graph, profile, 20'000);
    EXPECT_EQ(advised(long_fc_warning(graph, parts, profile, HostPath::scalar)), 2000u);
}

TEST(HostTime, WhereNoValueHelpsTheLimitIsToBeRaised) {
    ovt_profile fast = *ovt_profile_find("default");
    fast.macs_per_cycle = 65536; // the least max_time_per_fc holds 65 GMAC
    const Graph graph = convolutions(4);
    const Program whole = split_at(graph, fast, 0);
    const std::string text = long_fc_warning(graph, whole, fast, HostPath::scalar);
    EXPECT_EQ(advised(text), 0u) << text;
    EXPECT_NE(text.find("raise the limit (fc_clock_ms, --fc-clock-ms)"), std::string::npos) << text;
}
