// SPDX-License-Identifier: MIT
//
// The functions that RNN, GRU and LSTM apply to the sums of their gates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// A function of gates, with the parameters that the node gives it or that it has by default.
struct GateFunction {
    std::string type; ///< the operator that computes it
    bool has_alpha = false, has_beta = false;
    float alpha = 0, beta = 0;
};

/// The sizes of RNN, GRU or LSTM.
struct RecurrenceKind {
    std::int64_t gates, functions; ///< how many, in one direction
};

/// Returns the sizes of an operator; null if it is none of the three.
const RecurrenceKind* recurrence_kind(const std::string& type);

/// Returns the functions of the node, those of one direction behind those of the other.  Throws
/// CannotRewrite (rewrite.hpp) if there are not as many as the node needs, or one is unknown.
std::vector<GateFunction> gate_functions(const onnx::NodeProto& node, std::int64_t directions);

} // namespace overtake::compiler
