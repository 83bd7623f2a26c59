// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "compiler/inputs/samples.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Multiplies channels of what convolutions hand each other so that channels with small values use
/// more of a tensor's 8 bits, and divides the weights that read them: weights have a scale for each
/// output channel, so the writer loses nothing, nor does a depthwise reader.  How far to go is
/// chosen for each tensor by the error that its readers are to expect; the fewer the samples, the
/// more room is left above what they hold (after Nagel et al., "Data-free quantization through
/// weight equalization and bias correction", 2019).
///
/// In float the network stays the same for what the samples hold.  Behind a clamp like Relu6 a
/// multiplied channel saturates earlier than before, not below the greatest value seen.  Tensors
/// and weights whose scales the model gives are left alone.
void equalise(Graph& graph, const Samples& samples, const std::function<void(double)>& progress);

} // namespace overtake::compiler
