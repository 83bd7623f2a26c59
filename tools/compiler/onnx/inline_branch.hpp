// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

using Renames = std::map<std::string, std::string>;

/// Returns the nodes of a branch of an If.  Their tensors have names that are not in `names`, and
/// are added to it; outputs of the branch have the names of the If's outputs.  Constants and shapes
/// of the branch move to `graph`.  A tensor from around the branch has the name that `renames`
/// gives it, or its own.
std::vector<onnx::NodeProto> inline_branch(const onnx::NodeProto& node, onnx::GraphProto branch,
                                           onnx::GraphProto& graph, std::set<std::string>& names,
                                           Renames renames = {});

/// Adds every name of a tensor in the graph, and in graphs in its nodes, to `names`.
void add_names(const onnx::GraphProto& graph, std::set<std::string>& names);

/// Returns the branch that an If takes for the condition; null if it has none.
const onnx::GraphProto* branch_of(const onnx::NodeProto& node, bool condition);

} // namespace overtake::compiler
