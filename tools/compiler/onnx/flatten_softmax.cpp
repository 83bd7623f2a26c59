// SPDX-License-Identifier: MIT
#include "compiler/onnx/flatten_softmax.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/file.hpp"
#include "compiler/onnx/fresh_names.hpp"

namespace overtake::compiler {
namespace {

constexpr int opset_of_one_axis = 13; // since then they work along `axis` alone
constexpr int opset_of_negative_axes = 11;

bool is_one_of_these(const onnx::NodeProto& node) {
    static const std::set<std::string> types = {"Softmax", "LogSoftmax", "Hardmax"};
    return node.domain().empty() && types.contains(node.op_type()) && node.input_size() == 1 &&
           node.output_size() == 1;
}

class Flattener {
public:
    Flattener(onnx::ModelProto& model, int opset, const std::string& path)
        : graph_(*model.mutable_graph()), opset_(opset), path_(path), names_(graph_) {
        for (const auto* list : {&graph_.value_info(), &graph_.input(), &graph_.output()})
            for (const auto& info : *list) {
                types_[info.name()] = info.type().tensor_type().elem_type();
                if (info.type().tensor_type().has_shape())
                    ranks_[info.name()] = info.type().tensor_type().shape().dim_size();
            }
    }

    void run() {
        google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
        nodes.Swap(graph_.mutable_node());
        for (auto& node : nodes)
            if (is_one_of_these(node) && !is_over_last_axis(node))
                flatten(std::move(node));
            else
                graph_.add_node()->Swap(&node);
    }

private:
    // libonnx converts these nodes itself if it knows the rank as well.
    bool is_over_last_axis(const onnx::NodeProto& node) const {
        const auto rank = ranks_.find(node.input(0));
        const std::int64_t axis = Attributes(node).integer("axis", 1);
        return rank != ranks_.end() && rank->second > 0 &&
               (axis == rank->second - 1 || (axis == -1 && opset_ >= opset_of_negative_axes));
    }

    [[noreturn]] void refuse(const onnx::NodeProto& node, const std::string& reason) const {
        throw CompileError(path_, "node '" + (node.name().empty() ? node.output(0) : node.name()) +
                                      "' (" + node.op_type() + "): " + reason);
    }

    // Returns the axis as Flatten takes it in every opset.
    std::int64_t axis_of(const onnx::NodeProto& node) const {
        std::int64_t axis = Attributes(node).integer("axis", 1);
        const auto rank = ranks_.find(node.input(0));
        if (rank != ranks_.end()) {
            // In older opsets the matrix may have columns of one element.
            const int most = opset_ < opset_of_negative_axes ? rank->second : rank->second - 1;
            if (axis < -rank->second || axis > std::max(most, 0))
                refuse(node, "its axis " + std::to_string(axis) + " is none of a tensor of " +
                                 std::to_string(rank->second) + " dimensions");
            if (axis < 0)
                axis += rank->second;
        }
        if (axis < 0 && opset_ < opset_of_negative_axes)
            refuse(node, "its axis counts from the end of a tensor whose number of dimensions is "
                         "not known; export it with opset 13");
        return axis;
    }

    onnx::NodeProto& add(const char* type, const std::vector<std::string>& inputs,
                         const std::string& output) {
        onnx::NodeProto& node = *graph_.add_node();
        node.set_op_type(type);
        node.set_name(output);
        for (const std::string& input : inputs)
            node.add_input(input);
        node.add_output(output);
        return node;
    }

    void say_matrix(const std::string& name, int type) {
        onnx::ValueInfoProto& info = *graph_.add_value_info();
        info.set_name(name);
        info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
        for (int axis = 0; axis < 2; ++axis)
            info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
    }

    void flatten(onnx::NodeProto node) {
        const std::string input = node.input(0), output = node.output(0);
        const std::string shape = names_.take(output + ":shape"),
                          matrix = names_.take(output + ":matrix"),
                          result = names_.take(output + ":of_matrix");
        add("Shape", {input}, shape);
        onnx::AttributeProto& axis = *add("Flatten", {input}, matrix).add_attribute();
        axis.set_name("axis");
        axis.set_type(onnx::AttributeProto::INT);
        axis.set_i(axis_of(node));
        const auto known = types_.find(input);
        const int type = known == types_.end() || known->second == onnx::TensorProto::UNDEFINED
                             ? onnx::TensorProto::FLOAT
                             : known->second;
        say_matrix(matrix, type);
        say_matrix(result, type);
        node.set_input(0, matrix);
        node.set_output(0, result);
        node.clear_attribute();
        onnx::AttributeProto& last = *node.add_attribute();
        last.set_name("axis");
        last.set_type(onnx::AttributeProto::INT);
        last.set_i(1);
        graph_.add_node()->Swap(&node);
        add("Reshape", {result, shape}, output);
    }

    onnx::GraphProto& graph_;
    const int opset_;
    const std::string& path_;
    std::map<std::string, int> ranks_;
    std::map<std::string, int> types_; // the types of elements
    FreshNames names_;
};

} // namespace

bool has_softmax(const onnx::ModelProto& model) {
    return std::ranges::any_of(model.graph().node(), is_one_of_these);
}

void flatten_softmax(onnx::ModelProto& model, int opset, const std::string& path) {
    if (opset < opset_of_one_axis)
        Flattener(model, opset, path).run();
}

} // namespace overtake::compiler
