// SPDX-License-Identifier: MIT
#include "layer_norm.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "onnx_file.hpp"

namespace overtake::compiler {
namespace {

using onnx::NodeProto;

class Recogniser {
public:
    explicit Recogniser(onnx::ModelProto& model) : graph_(*model.mutable_graph()) {
        for (const auto& tensor : graph_.initializer())
            constants_[tensor.name()] = &tensor;
        for (const NodeProto& node : graph_.node())
            for (const std::string& output : node.output())
                writers_[output] = &node;
    }

    void run() {
        for (NodeProto& node : *graph_.mutable_node())
            if (node.op_type() == "Div")
                recognise(node);
    }

private:
    const NodeProto* writer(const std::string& name, const char* type) const {
        const auto found = writers_.find(name);
        const bool fits = found != writers_.end() && found->second->op_type() == type;
        return fits ? found->second : nullptr;
    }

    std::optional<float> scalar(const std::string& name) const {
        const onnx::TensorProto* tensor = nullptr;
        if (const auto found = constants_.find(name); found != constants_.end())
            tensor = found->second;
        else if (const NodeProto* node = writer(name, "Constant"))
            tensor = Attributes(*node).tensor("value");
        if (!tensor || tensor->data_type() != onnx::TensorProto::FLOAT)
            return std::nullopt;
        const Constant constant = read_constant(*tensor, "");
        return constant.floats.size() == 1 ? std::optional(constant.floats[0]) : std::nullopt;
    }

    // The tensor whose mean over the last axis this is.
    const std::string* mean_of(const std::string& name) const {
        const NodeProto* mean = writer(name, "ReduceMean");
        if (!mean || mean->input_size() != 1 ||
            Attributes(*mean).integers("axes", {}) != std::vector<std::int64_t>{-1} ||
            Attributes(*mean).integer("keepdims", 1) == 0)
            return nullptr;
        return &mean->input(0);
    }

    bool is_square_of(const std::string& name, const std::string& centred) const {
        if (const NodeProto* power = writer(name, "Pow"))
            return power->input(0) == centred && scalar(power->input(1)) == 2.0f;
        const NodeProto* product = writer(name, "Mul");
        return product && product->input(0) == centred && product->input(1) == centred;
    }

    // centred / sqrt(mean(centred ^ 2) + epsilon), centred being x - mean(x).
    void recognise(NodeProto& division) {
        const std::string centred = division.input(0);
        const NodeProto* difference = writer(centred, "Sub");
        const NodeProto* root = writer(division.input(1), "Sqrt");
        const NodeProto* sum = root ? writer(root->input(0), "Add") : nullptr;
        if (!difference || !sum)
            return;
        const std::string* mean = mean_of(difference->input(1));
        const std::string* squares = mean_of(sum->input(0));
        const auto epsilon = scalar(sum->input(1));
        if (!mean || *mean != difference->input(0) || !squares || !epsilon ||
            !is_square_of(*squares, centred))
            return;
        const std::string source = difference->input(0);
        division.set_op_type("LayerNormalization");
        division.clear_input();
        division.add_input(source);
        auto& attribute = *division.add_attribute();
        attribute.set_name("epsilon");
        attribute.set_type(onnx::AttributeProto::FLOAT);
        attribute.set_f(*epsilon);
    }

    onnx::GraphProto& graph_;
    std::map<std::string, const onnx::TensorProto*> constants_;
    std::map<std::string, const NodeProto*> writers_;
};

} // namespace

void recognise_layer_normalization(onnx::ModelProto& model) {
    Recogniser(model).run();
}

void remove_dead_nodes(onnx::ModelProto& model) {
    auto& nodes = *model.mutable_graph()->mutable_node();
    std::set<std::string> read;
    for (const auto& output : model.graph().output())
        read.insert(output.name());
    for (int index = nodes.size() - 1; index >= 0; --index) {
        const bool is_read = std::ranges::any_of(
            nodes[index].output(), [&](const auto& name) { return read.contains(name); });
        if (is_read)
            read.insert(nodes[index].input().begin(), nodes[index].input().end());
        else
            nodes.DeleteSubrange(index, 1);
    }
}

} // namespace overtake::compiler
