// SPDX-License-Identifier: MIT
#include "compiler/onnx/remove_edge_nodes.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/onnx/libonnx.hpp"

namespace overtake::compiler {
namespace {

template <typename Infos>
int index_of(const Infos& infos, const std::string& name) {
    for (int index = 0; index < infos.size(); ++index)
        if (infos[index].name() == name)
            return index;
    return -1;
}

int count_readers(const onnx::GraphProto& graph, const std::string& name) {
    int count = 0;
    for (const auto& node : graph.node())
        count += static_cast<int>(std::ranges::count(node.input(), name));
    return count;
}

void rename(onnx::GraphProto& graph, const std::string& from, const std::string& to) {
    for (auto& node : *graph.mutable_node()) {
        for (auto& input : *node.mutable_input())
            if (input == from)
                input = to;
        for (auto& output : *node.mutable_output())
            if (output == from)
                output = to;
    }
}

bool is_computed(const onnx::GraphProto& graph, const std::string& name) {
    return std::ranges::any_of(graph.node(), [&](const onnx::NodeProto& node) {
        return std::ranges::count(node.output(), name) > 0;
    });
}

bool has_graphs(const onnx::GraphProto& graph) {
    return std::ranges::any_of(graph.node(), [](const onnx::NodeProto& node) {
        return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
            return attribute.has_g() || attribute.graphs_size() > 0;
        });
    });
}

class EdgeRemover {
public:
    explicit EdgeRemover(onnx::ModelProto& model) : graph_(*model.mutable_graph()) {}

    // Removes a node; returns why it stays, or nothing if it was removed.
    std::optional<std::string> remove(int number) {
        const onnx::NodeProto node = graph_.node(number);
        if (node.input_size() < 1 || node.output_size() != 1)
            return "it has more than one output";
        const std::string &source = node.input(0), &target = node.output(0);
        const int input = index_of(graph_.input(), source),
                  output = index_of(graph_.output(), target);
        if (input < 0 && output < 0)
            return "it is at no input or output of the network";
        if (output >= 0 && (!is_computed(graph_, source) || index_of(graph_.output(), source) >= 0))
            return "nothing else would compute the output";
        if (output < 0 && count_readers(graph_, source) > 1)
            return "other nodes read the input, too";
        const int inferred = index_of(graph_.value_info(), output >= 0 ? source : target);
        if (inferred < 0)
            return "the shape of the tensor on its other side is not known";
        const onnx::TypeProto type = graph_.value_info(inferred).type();
        graph_.mutable_node()->DeleteSubrange(number, 1);
        graph_.mutable_value_info()->DeleteSubrange(inferred, 1);
        if (output >= 0) {
            *graph_.mutable_output(output)->mutable_type() = type;
            rename(graph_, source, target);
        } else {
            *graph_.mutable_input(input)->mutable_type() = type;
            rename(graph_, target, source);
        }
        return std::nullopt;
    }

private:
    onnx::GraphProto& graph_;
};

void remove_type(onnx::ModelProto& model, const std::string& type) {
    for (int number = model.graph().node_size() - 1; number >= 0; --number)
        if (model.graph().node(number).op_type() == type)
            EdgeRemover(model).remove(number);
}

void remove_named(onnx::ModelProto& model, const RemovedNode& removed,
                  const std::function<void(const std::string&)>& warn) {
    std::string reason = "the network has no such node";
    for (int number = 0; number < model.graph().node_size(); ++number) {
        const onnx::NodeProto& node = model.graph().node(number);
        if (node.name() != removed.name &&
            (node.output_size() == 0 || node.output(0) != removed.name))
            continue;
        const auto refusal = EdgeRemover(model).remove(number);
        if (!refusal)
            return;
        reason = "the node stays, as " + *refusal;
        break;
    }
    if (warn)
        warn(removed.place + ": " + reason);
}

} // namespace

void remove_edge_nodes(onnx::ModelProto& model, const std::vector<RemovedNode>& removed,
                       Libonnx& libonnx, const std::function<void(const std::string&)>& warn) {
    if (removed.empty())
        return;
    if (has_graphs(model.graph())) {
        if (warn)
            warn(removed.front().place + ": no node is removed from a network with conditions");
        return;
    }
    libonnx.infer_shapes(model);
    for (const RemovedNode& one : removed)
        if (one.is_type)
            remove_type(model, one.name);
        else
            remove_named(model, one, warn);
}

} // namespace overtake::compiler
