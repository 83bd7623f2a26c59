// SPDX-License-Identifier: MIT
//
// The wishes of a configuration file for nodes, and the warnings of those that are not fulfilled.
#pragma once

#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/import/import.hpp"
#include "compiler/onnx/file.hpp"

namespace overtake::compiler {

/// Returns the options in which each wish for a node of the network is one of run_on_cpu,
/// run_on_bpu or stay_on_bpu.
ImportOptions with_wishes(const ImportOptions& options, const onnx::GraphProto& graph);

/// Warns of wishes that are not fulfilled, and names the substitutes.  `verdicts` are those of
/// the nodes of `graph`, from which `imported` was made.
void report_wishes(const ImportOptions& options, const FileNodes& file,
                   const onnx::GraphProto& graph, const Graph& imported,
                   const std::vector<NodeVerdict>& verdicts);

} // namespace overtake::compiler
