// SPDX-License-Identifier: MIT
//
// Imports quantised models: with QuantizeLinear and DequantizeLinear around float operators (QDQ),
// or with operators over quantised tensors (QOperator: QLinearConv and similar operators).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/ir/quantisation.hpp"

namespace overtake::compiler {

/// Scales that a model gives, by tensor name.
struct GivenScales {
    std::map<std::string, Quantisation> tensors;
    std::map<std::string, std::vector<float>> weights; ///< constants; one scale, or one a channel

    std::map<std::string, Quantisation> constants; ///< of constants of bytes with one scale
    std::set<std::string> rounded;                 ///< tensors whose numbers the model rounds anew

    bool is_quantised = false; ///< the model has operators that quantise

    /// Inputs of the model that are bytes; true: unsigned.
    std::map<std::string, bool> bytes;

    bool empty() const { return tensors.empty() && weights.empty(); }
};

/// Rewrites a model into the float model that it quantises, and returns the scales that it gave;
/// does nothing to a model without 8-bit tensors.  The place where a tensor is rounded stays
/// visible: a Clip to the range of its 8 bits, whose output has a given scale.  Unsigned zero
/// points become signed ones.  Takes 8-bit tensors with one scale, and 8-bit constants with one
/// scale or one for each channel.  Inputs and outputs of the model that are 8-bit become numbers
/// with the values of their bytes.  Throws CompileError naming file, node, operator and reason.
GivenScales remove_qdq(onnx::ModelProto& model, const std::string& path);

/// Whether remove_qdq() deals with operators of this type.
bool is_quantised_operator(const std::string& type);

} // namespace overtake::compiler
