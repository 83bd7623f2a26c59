// SPDX-License-Identifier: MIT
#include "compiler/onnx/fuse_layer_norm.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/onnx/file.hpp"
#include "compiler/onnx/graph_index.hpp"

namespace overtake::compiler {
namespace {

using onnx::NodeProto;

class Recogniser {
public:
    explicit Recogniser(onnx::GraphProto& graph) : graph_(graph), index_(graph) {}

    void run() {
        for (NodeProto& node : *graph_.mutable_node())
            if (node.op_type() == "Div")
                recognise(node);
    }

private:
    std::optional<float> scalar(const std::string& name) const {
        const onnx::TensorProto* tensor = index_.constant(name);
        if (!tensor || tensor->data_type() != onnx::TensorProto::FLOAT)
            return std::nullopt;
        const Constant constant = read_constant(*tensor, "");
        return constant.floats.size() == 1 ? std::optional(constant.floats[0]) : std::nullopt;
    }

    // Returns the tensor whose mean over the last axis this one is, or null.
    const std::string* mean_of(const std::string& name) const {
        const NodeProto* mean = index_.writer(name, "ReduceMean");
        if (!mean || mean->input_size() != 1 || Attributes(*mean).integer("keepdims", 1) == 0)
            return nullptr;
        const auto axes = Attributes(*mean).integers("axes", {});
        const bool is_last =
            axes.size() == 1 &&
            (axes[0] == -1 || axes[0] + 1 == std::ssize(index_.shape(mean->input(0))));
        return is_last ? &mean->input(0) : nullptr;
    }

    bool is_square_of(const std::string& name, const std::string& centred) const {
        if (const NodeProto* power = index_.writer(name, "Pow"))
            return power->input(0) == centred && scalar(power->input(1)) == 2.0f;
        const NodeProto* product = index_.writer(name, "Mul");
        return product && product->input(0) == centred && product->input(1) == centred;
    }

    // Returns the constant that the node combines with the tensor, if it has one number for each
    // element of the last axis; else null.
    const std::string* parameter(const NodeProto& node, const std::string& tensor,
                                 std::int64_t count) const {
        const std::string& other = node.input(node.input(0) == tensor ? 1 : 0);
        const onnx::TensorProto* found = index_.constant(other);
        const bool fits = found && found->data_type() == onnx::TensorProto::FLOAT &&
                          found->dims_size() == 1 && found->dims(0) == count;
        return fits ? &other : nullptr;
    }

    // Includes a scale behind the division, and an offset behind that.  The last node becomes the
    // normalisation.
    void become_normalization(NodeProto& division, const std::string& source, float epsilon) {
        NodeProto* last = &division;
        std::vector<std::string> inputs = {source};
        const auto shape = index_.shape(source);
        for (const char* type : {"Mul", "Add"}) {
            NodeProto* reader = index_.sole_reader(last->output(0), type);
            const std::string* operand = reader && !shape.empty()
                                             ? parameter(*reader, last->output(0), shape.back())
                                             : nullptr;
            if (!operand)
                break;
            inputs.push_back(*operand);
            last = reader;
        }
        last->set_op_type("LayerNormalization");
        last->clear_input();
        for (const std::string& input : inputs)
            last->add_input(input);
        last->clear_attribute();
        auto& attribute = *last->add_attribute();
        attribute.set_name("epsilon");
        attribute.set_type(onnx::AttributeProto::FLOAT);
        attribute.set_f(epsilon);
    }

    // Recognises centred / sqrt(mean(centred ^ 2) + epsilon), where centred is x - mean(x).
    void recognise(NodeProto& division) {
        const std::string centred = division.input(0);
        const NodeProto* difference = index_.writer(centred, "Sub");
        const NodeProto* root = index_.writer(division.input(1), "Sqrt");
        const NodeProto* sum = root ? index_.writer(root->input(0), "Add") : nullptr;
        if (!difference || !sum)
            return;
        const std::string* mean = mean_of(difference->input(1));
        const std::string* squares = mean_of(sum->input(0));
        const auto epsilon = scalar(sum->input(1));
        if (!mean || *mean != difference->input(0) || !squares || !epsilon ||
            !is_square_of(*squares, centred))
            return;
        become_normalization(division, std::string(difference->input(0)), *epsilon);
    }

    onnx::GraphProto& graph_;
    GraphIndex index_;
};

} // namespace

void fuse_layer_norm(onnx::ModelProto& model) {
    Recogniser(*model.mutable_graph()).run();
}

void remove_dead_nodes(onnx::ModelProto& model) {
    auto& nodes = *model.mutable_graph()->mutable_node();
    std::set<std::string> read;
    for (const auto& output : model.graph().output())
        read.insert(output.name());
    for (int index = nodes.size() - 1; index >= 0; --index) {
        const bool is_read = std::ranges::any_of(
            nodes[index].output(), [&](const auto& name) { return read.contains(name); });
        if (!is_read) {
            nodes.DeleteSubrange(index, 1);
            continue;
        }
        read.insert(nodes[index].input().begin(), nodes[index].input().end());
        if (nodes[index].domain() != "com.microsoft" && nodes[index].op_type() != "MaxPool")
            continue; // other operators need all their outputs, even unread ones
        for (int output = 1; output < nodes[index].output_size(); ++output)
            if (!read.contains(nodes[index].output(output)))
                nodes[index].set_output(output, "");
    }
}

} // namespace overtake::compiler
