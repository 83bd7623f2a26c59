// SPDX-License-Identifier: MIT
//
// Rewrites operators of opsets that not every libonnx knows as operators that each knows.
#pragma once

#include <onnx/onnx_pb.h>

#include "compiler/onnx/set_aside.hpp"

namespace overtake::compiler {

class Libonnx;

/// Rewrites nodes of opsets above known_opset as nodes of that opset which compute the same, and
/// gives the model that opset.  A node that has no such form is set aside with the reason and the
/// remedy.  Nodes of unknown operators stay unchanged.
void lower_to_known_opset(onnx::ModelProto& model, Libonnx& libonnx, Refusals& refusals);

} // namespace overtake::compiler
