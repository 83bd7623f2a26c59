// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/import/context.hpp"
#include "compiler/onnx/fresh_names.hpp"

namespace overtake::compiler {

/// Returns the nodes that replace the node at hand (compiler/onnx/decompose.hpp); none if it stays.
/// Import calls it while it goes through the graph, since shapes behind computed shapes are known
/// only then.  The constants of these nodes are in the context.  Throws CompileError if the node
/// has no such form.
std::vector<onnx::NodeProto> decomposed(Context& context, FreshNames& names);

} // namespace overtake::compiler
