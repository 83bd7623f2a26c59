// SPDX-License-Identifier: MIT
//
// What a configuration file asks of nodes, and what became of it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/import/import.hpp"

namespace overtake::compiler {

/// The options with each wish for a node that the network has as run_on_cpu, run_on_bpu or
/// stay_on_bpu.
ImportOptions with_wishes(const ImportOptions& options, const onnx::GraphProto& graph);

/// Warns of wishes that are not fulfilled, with what is done instead.  `names` are of the nodes
/// that the file has, `verdicts` of those of `graph`.
void report_wishes(const ImportOptions& options, const std::set<std::string>& names,
                   const onnx::GraphProto& graph, const std::vector<NodeVerdict>& verdicts);

} // namespace overtake::compiler
