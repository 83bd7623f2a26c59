// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

using Renames = std::map<std::string, std::string>;

/// Takes the branch of an If apart and returns its nodes.  Their tensors have names that are not in
/// `names`, which grows by them; outputs of the branch have the names of the If's outputs.
/// Constants of the branch, and what it says of shapes, become ones of `graph`.  A tensor from
/// around the branch has the name that `renames` gives it, or its own.
std::vector<onnx::NodeProto> inline_branch(const onnx::NodeProto& node, onnx::GraphProto branch,
                                           onnx::GraphProto& graph, std::set<std::string>& names,
                                           Renames renames = {});

/// Adds every name of a tensor in the graph, and in graphs in its nodes.
void add_names(const onnx::GraphProto& graph, std::set<std::string>& names);

/// The branch that an If takes; null if it has none.
const onnx::GraphProto* branch_of(const onnx::NodeProto& node, bool condition);

} // namespace overtake::compiler
