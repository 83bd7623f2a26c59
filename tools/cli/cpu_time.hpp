// SPDX-License-Identifier: MIT
//
// The estimated times of CPU operators. With them, a report shows that the CPU's share of the time
// is not zero.
#pragma once

#include <vector>

#include "model_generated.h"

namespace overtake::command {

/// Returns an estimate in microseconds for each operator of the CPU segments, one segment after the
/// other. The estimate is the time for its multiply-accumulates and the float32 elements of its
/// inputs and outputs, by the rates of the profile's CPU, and a fixed cost for each operator.
std::vector<double> estimated_cpu_us(const fbs::Model& model);

} // namespace overtake::command
