// SPDX-License-Identifier: MIT
//
// What a configuration file asks of nodes, and what became of it.
#pragma once

#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/import/import.hpp"
#include "compiler/onnx/file.hpp"

namespace overtake::compiler {

/// The options with each wish for a node that the network has as run_on_cpu, run_on_bpu or
/// stay_on_bpu.
ImportOptions with_wishes(const ImportOptions& options, const onnx::GraphProto& graph);

/// Warns of wishes that are not fulfilled, with what is done instead.  `verdicts` are of the nodes
/// of `graph`, from which `imported` was made.
void report_wishes(const ImportOptions& options, const FileNodes& file,
                   const onnx::GraphProto& graph, const Graph& imported,
                   const std::vector<NodeVerdict>& verdicts);

} // namespace overtake::compiler
