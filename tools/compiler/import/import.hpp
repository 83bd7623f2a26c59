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

/// What a configuration file asks of nodes.  What cannot be had is warned about, with what is done
/// instead, unless the wish must be fulfilled.
struct NodeWish {
    enum class On { any, bpu, cpu };
    std::string name;  ///< of one node; empty: of all nodes of a kind
    std::string kind;  ///< an operator; empty, as the name: of all nodes
    std::string place; ///< begins warnings about it: FILE:LINE: warning: KEY
    On on = On::any;
    std::string width; ///< of what it computes with: int8, int16 or float32; empty: any
    bool must = false; ///< the network is refused if the BPU cannot run it
};

/// Of an RNN, GRU or LSTM.
struct RecurrenceSize {
    std::int64_t steps, batch, features, hidden, gates, directions;
};

/// In place of a node's name.
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
    /// Called with what the user ought to know of a network that is taken all the same.
    std::function<void(const std::string& text)> warn = {};
};

/// The entry of an operator in the importer's own table; an empty text: not supported there.
struct SupportedOperator {
    std::string type;
    std::string on_bpu;
    std::string on_cpu;
};

/// Every operator that import_onnx() takes, by name.
std::vector<SupportedOperator> supported_operators();

/// The place of one node of a network.
struct NodeVerdict {
    enum class Where {
        bpu,
        cpu,
        nowhere, ///< a constant, or another name of a tensor
        refused,
        unknown ///< a refused node makes what it reads
    };
    std::string name;
    std::string type; ///< its operator
    Where where = Where::unknown;
    std::string reason; ///< of a refusal; on the CPU, why the device cannot run it
};

/// Every node of the network behind constants and conditions that are folded, or why there is no
/// saying it.
struct Survey {
    std::vector<NodeVerdict> nodes;
    std::string refusal; ///< of the network as a whole; empty: none
    Graph graph;         ///< whole if nothing is refused
};

/// Returns what import_onnx() does with each node, refused ones included.
Survey survey_onnx(const std::string& path, const ImportOptions& options = {});

/// Reads an ONNX file into a Graph.  A node that the device can run belongs to it, but for one that
/// costs next to nothing and has more neighbours on the CPU; all others belong to the CPU.
/// BatchNormalization and arithmetic with constants become
/// depthwise convolutions of one element, Relu and Clip activations that only clamp, Gemm and
/// MatMul convolutions whose kernel is their whole input; folding merges them afterwards.
/// Throws CompileError naming file, nodes, operators and reasons for all that it cannot take.
Graph import_onnx(const std::string& path, const ImportOptions& options = {});

} // namespace overtake::compiler
