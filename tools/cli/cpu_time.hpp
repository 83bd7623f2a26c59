// SPDX-License-Identifier: MIT
//
// How long operators of the CPU take. Readers of a report should see that the CPU's share is not
// nothing.
#pragma once

#include <vector>

#include "model_generated.h"

namespace overtake::command {

/// Returns an estimate in microseconds for each operator of the CPU segments, one segment after the
/// other. The estimate is the time for its multiply-accumulates and the float32 elements of its
/// inputs and outputs, by the rates of the profile's CPU, and a fixed cost for each operator.
std::vector<double> estimated_cpu_us(const fbs::Model& model);

} // namespace overtake::command
