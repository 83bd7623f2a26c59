// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "compiler/inputs/samples.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Multiplies channels of values between convolutions so that channels with small values use more
/// of a tensor's 8 bits, and divides the weights that read them.  Weights have a scale for each
/// output channel, so the writer loses nothing, nor does a depthwise reader.  The factors of each
/// tensor are those with the least expected error of the readers.  The fewer the samples, the more
/// room is left above their values (after Nagel et al., "Data-free quantization through weight
/// equalization and bias correction", 2019).
///
/// In float the network stays the same for the values of the samples.  After a clamp like Relu6 a
/// multiplied channel saturates earlier than before, but not below the greatest value seen.
/// Tensors and weights whose scales the model gives do not change.
void equalise(Graph& graph, const Samples& samples, const std::function<void(double)>& progress);

} // namespace overtake::compiler
