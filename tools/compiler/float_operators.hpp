// SPDX-License-Identifier: MIT
//
// What the float network does beside convolutions, written to be obviously right.
#pragma once

#include <vector>

#include "graph.hpp"

namespace overtake::compiler {

/// A value and its elements in ONNX's order; both belong to the caller.
struct FloatTensor {
    const Value& value;
    const std::vector<float>& data;
};

/// Computes any node but convolutions into `out`, which has the elements of `value`.  Clamping is
/// the caller's.  Thread-safe.
void run_float(const Node& node, const std::vector<FloatTensor>& inputs, const Value& value,
               std::vector<float>& out);

/// Softmax along the node's axis of `value`'s ONNX shape.
void softmax(const Node& node, const Value& value, const std::vector<float>& source,
             std::vector<float>& target);

} // namespace overtake::compiler
