// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Takes the branch of an If apart: its nodes under names that are not in `names`, which grows by
/// them, the outputs under those of the If.  Its constants become
/// ones of `graph`; what it reads from around it stays as it is called.
std::vector<onnx::NodeProto> inline_branch(const onnx::NodeProto& node, onnx::GraphProto branch,
                                           onnx::GraphProto& graph, std::set<std::string>& names);

/// The branch that an If takes; null if it has none.
const onnx::GraphProto* branch_of(const onnx::NodeProto& node, bool condition);

} // namespace overtake::compiler
