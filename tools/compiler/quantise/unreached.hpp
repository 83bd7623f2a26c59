// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "compiler/inputs/samples.hpp"
#include "compiler/quantise/calibrate.hpp"

namespace overtake::compiler {

/// Warns of outputs of Sigmoid and Tanh that reached less than half of the function's bound over
/// the samples: the samples may lack what the network is to find.
void warn_of_unreached(const std::string& model, const Graph& graph, const Calibration& calibration,
                       const Warn& warn);

} // namespace overtake::compiler
