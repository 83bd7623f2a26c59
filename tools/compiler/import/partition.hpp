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

/// Whether an operator of that type computes so much that the device should, even if its data have
/// to come there for it.
bool is_expensive(const std::string& type);

/// Nodes on the device that cost next to nothing and whose neighbours are on the CPU rather than on
/// the device: left where they are they would only make data cross.  Cheap nodes that hang together
/// are looked at as one.  Nodes that round to a scale that the model gives stay with what computes
/// for them.  Numbers of nodes of the file.
std::set<int> cheaper_on_cpu(const onnx::ModelProto& model,
                             const std::vector<Placement>& placements, const GivenScales& given);

} // namespace overtake::compiler
