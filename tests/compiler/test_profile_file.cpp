// SPDX-License-Identifier: MIT
#include "compiler/profile.hpp"

#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "compiler/ir/error.hpp"

using namespace overtake::compiler;

namespace {

std::shared_ptr<const DeviceProfile> read_text(const std::string& text) {
    const std::string path = testing::TempDir() + "/overtake_test_profile.yaml";
    std::ofstream(path) << text;
    const auto profile = find_profile(path);
    std::remove(path.c_str());
    return profile;
}

const std::string profile_numbers =
    "name: small\nsource: here\nclock_khz: 1000\nmacs_per_cycle: 1\n"
    "vector_per_cycle: 1\nbytes_per_cycle: 1\n"
    "insn_overhead_cycles: 0\nfc_overhead_cycles: 0\n";

} // namespace

TEST(ProfileFile, HasASyncThatMayBeLeftOut) {
    EXPECT_EQ(read_text(profile_numbers)->numbers.sync_cycles, 500u);
    const auto profile = read_text(profile_numbers + "sync_cycles: 0\n");
    EXPECT_EQ(profile->numbers.sync_cycles, 0u);
    EXPECT_EQ(read_text(profile_file(*profile))->numbers.sync_cycles, 0u);
    EXPECT_THROW(read_text(profile_numbers + "sync_cycles: -1\n"), CompileError);
}

TEST(ProfileFile, SaysWhichOpcodesCoresLack) {
    EXPECT_EQ(read_text(profile_numbers)->numbers.without, 0u);
    const auto profile = read_text(profile_numbers + "without: [MAX_POOL, NV12]\n");
    EXPECT_EQ(profile->numbers.without, 1ull << OVERTAKE_OP_MAX_POOL | 1ull << OVERTAKE_OP_NV12);
    EXPECT_EQ(read_text(profile_file(*profile))->numbers.without, profile->numbers.without);
    EXPECT_THROW(read_text(profile_numbers + "without: MAX_POOL\n"), CompileError);
    EXPECT_THROW(read_text(profile_numbers + "without: [DELAY]\n"), CompileError);
}
