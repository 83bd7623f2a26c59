// SPDX-License-Identifier: MIT
//
// Operators of opsets that not every libonnx knows, as those that it does.
#pragma once

#include <onnx/onnx_pb.h>

#include "compiler/onnx/set_aside.hpp"

namespace overtake::compiler {

class Libonnx;

/// Rewrites nodes of opsets above known_opset into nodes of that one which compute the same, and
/// makes the model one of that opset.  Nodes for which there are none are set aside with the
/// reason and the remedy; operators that are unknown stay as they are.
void lower_to_known_opset(onnx::ModelProto& model, Libonnx& libonnx, Refusals& refusals);

} // namespace overtake::compiler
