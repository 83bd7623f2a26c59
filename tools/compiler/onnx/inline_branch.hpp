// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

using Renames = std::map<std::string, std::string>;

/// Takes the branch of an If apart: its nodes under names that are not in `names`, which grows by
/// them, the outputs under those of the If.  Its constants become
/// ones of `graph`, and so does what it says of shapes; what it reads from around it is called as `renames` says, or stays as it is.
std::vector<onnx::NodeProto> inline_branch(const onnx::NodeProto& node, onnx::GraphProto branch,
                                           onnx::GraphProto& graph, std::set<std::string>& names,
                                           Renames renames = {});

/// Adds every name of a tensor in the graph, and in graphs in its nodes.
void add_names(const onnx::GraphProto& graph, std::set<std::string>& names);

/// The branch that an If takes; null if it has none.
const onnx::GraphProto* branch_of(const onnx::NodeProto& node, bool condition);

} // namespace overtake::compiler
