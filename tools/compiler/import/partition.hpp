// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/remove_qdq.hpp"

namespace overtake::compiler {

/// The place of a node of the file.
enum class Placement { nowhere, bpu, cpu }; // nowhere: folded, or only another name

/// Whether an operator of that type computes so much that the device should run it, even if its
/// data have to move there.
bool is_expensive(const std::string& type);

/// Returns the numbers of nodes of the file on the device that cost next to nothing and have more
/// neighbours on the CPU than on the device: there they would only make data cross.  Connected
/// cheap nodes count as one.  Nodes that round to a scale that the model gives stay with the nodes
/// that compute for them.
std::set<int> cheaper_on_cpu(const onnx::ModelProto& model,
                             const std::vector<Placement>& placements, const GivenScales& given);

} // namespace overtake::compiler
