// SPDX-License-Identifier: MIT
//
// One operator of the CPU, run on a test's arrays.
#pragma once

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/operation.hpp"

namespace overtake::cpu {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

inline std::vector<float> run(const Operation& operation,
                              const std::vector<std::vector<float>>& inputs) {
    EXPECT_EQ(check(operation), "");
    std::vector<float> out(elements(operation.output));
    make_kernel(operation)(Inputs(inputs.begin(), inputs.end()), out);
    return out;
}

} // namespace overtake::cpu
