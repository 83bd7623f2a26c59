// SPDX-License-Identifier: MIT
//
// Conv on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

std::vector<float> convolution_bias(const Context& context, std::int64_t outputs);

/// Checks that the model's shape of the output does not contradict the weights.
void check_output_channels(const Context& context, const Value& output, std::int64_t channels);

} // namespace overtake::compiler
