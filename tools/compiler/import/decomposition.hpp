// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/import/context.hpp"
#include "compiler/onnx/fresh_names.hpp"

namespace overtake::compiler {

/// Returns the nodes as which the node at hand is written (compiler/onnx/decompose.hpp); empty: it
/// stays.  This is done while import goes through the graph, since shapes behind computed ones are
/// known only then.  The constants of these nodes are in the context.  Throws CompileError where
/// the node has no such form.
std::vector<onnx::NodeProto> decomposed(Context& context, FreshNames& names);

} // namespace overtake::compiler
