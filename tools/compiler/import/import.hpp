// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/limits.hpp"
#include "compiler/onnx/removed_node.hpp"

namespace overtake::compiler {

/// A wish of a configuration file for nodes.  If it is not fulfilled, a warning names the
/// substitute, unless it must be fulfilled.
struct NodeWish {
    enum class On { any, bpu, cpu };
    std::string name;  ///< of one node; empty: of all nodes of a kind
    std::string kind;  ///< an operator; empty, as the name: of all nodes
    std::string place; ///< begins warnings about it: FILE:LINE: warning: KEY
    On on = On::any;
    std::string width; ///< of the numbers of its computation: int8, int16 or float32; empty: any
    bool must = false; ///< the network is refused if the BPU cannot run it
};

/// The sizes of an RNN, GRU or LSTM.
struct RecurrenceSize {
    std::int64_t steps, batch, features, hidden, gates, directions;
};

/// Stands for all nodes, in place of a node's name.
inline constexpr const char* all_nodes = "all";

struct ImportOptions {
    std::vector<NodeWish> wishes;
    std::vector<RemovedNode> removed;    ///< nodes at the inputs and outputs, in this order
    bool all_on_cpu = false;             ///< nodes without a form there are refused
    std::vector<std::string> run_on_cpu; ///< names of nodes that the CPU shall run
    std::vector<std::string> run_on_bpu; ///< names of nodes that are refused if the device cannot
    std::set<std::string> stay_on_bpu;   ///< nodes that are not moved for being cheap
    std::vector<std::string> int16;      ///< nodes with 16 bits on the device; all_nodes: all
    /// Nodes that the CPU shall run, and why; names may be unknown.
    std::map<std::string, std::string> keep_on_cpu;
    std::map<std::string, std::vector<std::int64_t>> input_shapes; ///< of inputs by name
    /// Inputs that become constants: a number for all their elements, or one for each, with commas.
    std::map<std::string, std::string> set_inputs;
    /// Domains of ONNX whose operators are the program's own (overtake/custom_operator.hpp).
    std::vector<std::string> custom_domains;
    /// Why the device shall not compute such a recurrence, one step after the other; empty: it
    /// shall.  Without it only those that run_on_bpu or stay_on_bpu names are computed there.
    std::function<std::string(const RecurrenceSize&)> why_not_unrolled = {};
    std::uint64_t most_elements = max_elements; ///< of a tensor; the runtime takes no more
    /// Called with each warning about a network that is imported all the same.
    std::function<void(const std::string& text)> warn = {};
};

/// The entry of an operator in the importer's own table; an empty text: not supported there.
struct SupportedOperator {
    std::string type;
    std::string on_bpu;
    std::string on_cpu;
};

/// Returns every operator that import_onnx() takes, by name.
std::vector<SupportedOperator> supported_operators();

/// The place of one node of a network.
struct NodeVerdict {
    enum class Where {
        bpu,
        cpu,
        nowhere, ///< a constant, or another name of a tensor
        refused,
        unknown ///< a refused node makes one of its inputs
    };
    std::string name;
    std::string type; ///< its operator
    Where where = Where::unknown;
    std::string reason; ///< of a refusal; on the CPU, why the device cannot run it
};

/// The places of the network's nodes after constants and conditions are folded, or the reason why
/// they are not known.
struct Survey {
    std::vector<NodeVerdict> nodes;
    std::string refusal; ///< of the network as a whole; empty: none
    Graph graph;         ///< whole if nothing is refused
};

/// Returns the verdict of import_onnx() on each node, refused ones included.
Survey survey_onnx(const std::string& path, const ImportOptions& options = {});

/// Reads an ONNX file into a Graph.  Nodes that the device cannot run belong to the CPU.  So do
/// nodes that the options want there, nodes of masks and spectra, whose results 8 bits do not hold,
/// and nodes that cost next to nothing and have more neighbours on the CPU.  BatchNormalization and
/// arithmetic with constants become depthwise convolutions of one element, Relu and Clip
/// activations that only clamp, Gemm and MatMul convolutions whose kernel is their whole input;
/// folding merges them afterwards.  Throws CompileError naming file, nodes, operators and reasons
/// for all nodes that it cannot import.
Graph import_onnx(const std::string& path, const ImportOptions& options = {});

} // namespace overtake::compiler
