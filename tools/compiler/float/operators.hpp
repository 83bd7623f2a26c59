// SPDX-License-Identifier: MIT
//
// Operators of the float network beside convolutions, written to be obviously right.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// A value and its elements in ONNX's order; both belong to the caller.
struct FloatTensor {
    const Value& value;
    const std::vector<float>& data;
};

/// Computes any node of the device except a convolution into `out`, which has the elements of
/// `value`.  `images` are images_of() the node.  The caller clamps the result.  Thread-safe.
void run_float(const Node& node, std::uint32_t images, const std::vector<FloatTensor>& inputs,
               const Value& value, std::vector<float>& out);

} // namespace overtake::compiler
