// SPDX-License-Identifier: MIT
//
// How long operators of the CPU take, for readers of a report, who are to see that the CPU's share
// is not nothing.
#pragma once

#include <vector>

#include "model_generated.h"

namespace overtake::command {

/// An estimate for each operator of the CPU segments, one segment after the other, microseconds:
/// its multiply-accumulates and the float32 elements of its inputs and outputs by the rates of the
/// profile's CPU, and what an operator costs by itself.
std::vector<double> estimated_cpu_us(const fbs::Model& model);

} // namespace overtake::command
