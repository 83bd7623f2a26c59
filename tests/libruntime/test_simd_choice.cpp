// SPDX-License-Identifier: MIT
//
// The vector instructions that OVERTAKE_SIMD allows.
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "overtake/error.hpp"
#include "simd_choice.hpp"

namespace overtake {
namespace {

class SimdChoice : public testing::Test {
protected:
    SimdChoice() {
        if (const char* const value = std::getenv("OVERTAKE_SIMD"))
            before_ = value;
    }
    ~SimdChoice() override {
        if (before_)
            setenv("OVERTAKE_SIMD", before_->c_str(), 1);
        else
            unsetenv("OVERTAKE_SIMD");
    }

    static std::optional<ovt_simd_level> chosen(const char* name) {
        setenv("OVERTAKE_SIMD", name, 1);
        return chosen_simd();
    }

private:
    std::optional<std::string> before_;
};

TEST_F(SimdChoice, IsTheBestOfTheCpuUnlessTheEnvironmentLimitsIt) {
    const std::optional<ovt_simd_level> best =
        ovt_simd_supported() ? std::optional(ovt_simd_best()) : std::nullopt;
    unsetenv("OVERTAKE_SIMD");
    EXPECT_EQ(chosen_simd(), best);
    EXPECT_EQ(chosen(""), best);
    EXPECT_EQ(chosen("auto"), best);
    EXPECT_EQ(chosen("off"), std::nullopt);
}

TEST_F(SimdChoice, IsALevelThatTheCpuHasAndTheEnvironmentAllows) {
    for (int number = 0; number < OVT_SIMD_LEVELS; number++) {
        const auto level = static_cast<ovt_simd_level>(number);
        const std::optional<ovt_simd_level> choice = chosen(ovt_simd_level_name(level));
        ASSERT_EQ(choice.has_value(), ovt_simd_supported());
        if (!choice)
            continue;
        EXPECT_LE(*choice, level);
        EXPECT_TRUE(ovt_simd_has(*choice));
        EXPECT_TRUE(*choice == level || !ovt_simd_has(level));
    }
}

TEST_F(SimdChoice, OfAnUnknownNameIsAnErrorThatListsTheNames) {
    try {
        chosen("avx512");
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL);
        EXPECT_STREQ(error.what(), "OVERTAKE_SIMD=avx512: not auto (the best of this CPU), "
                                   "avx512-vbmi, avx512-vnni, avx-vnni, avx2 or off");
    }
}

} // namespace
} // namespace overtake
