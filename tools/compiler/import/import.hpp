// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

struct ImportOptions {
    std::vector<std::string> run_on_cpu; ///< names of nodes that the CPU shall run
    std::vector<std::string> run_on_bpu; ///< names of nodes that are refused if the device cannot
    std::set<std::string> keep_on_cpu;   ///< the same as run_on_cpu; names may be unknown
    std::map<std::string, std::vector<std::int64_t>> input_shapes; ///< of inputs by name
    std::uint64_t most_elements = max_elements; ///< of a tensor; the runtime takes no more
};

/// What the importer's own table says of an operator; an empty text: not there.
struct SupportedOperator {
    std::string type;
    std::string on_bpu;
    std::string on_cpu;
};

/// Every operator that import_onnx() takes, by name.
std::vector<SupportedOperator> supported_operators();

/// Reads an ONNX file into a Graph.  A node that the device can run belongs to it, but for one that
/// costs next to nothing and has more neighbours on the CPU; all others belong to the CPU.
/// BatchNormalization and arithmetic with constants become
/// depthwise convolutions of one element, Relu and Clip activations that only clamp, Gemm and
/// MatMul convolutions whose kernel is their whole input; folding merges them afterwards.
/// Throws CompileError naming file, node, operator and reason for what it cannot take.
Graph import_onnx(const std::string& path, const ImportOptions& options = {});

} // namespace overtake::compiler
