// SPDX-License-Identifier: MIT
#include "compiler/onnx/fold_conditions.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/inline_branch.hpp"

namespace overtake::compiler {
namespace {

constexpr int opset_of_evaluation = 13;

bool is_onnx(const onnx::NodeProto& node) {
    return node.domain().empty() || node.domain() == "ai.onnx";
}

bool has_graphs(const onnx::NodeProto& node) {
    return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
        return attribute.has_g() || attribute.graphs_size() > 0;
    });
}

// False for types that constants cannot have here.
bool write_typed(const Constant& constant, int type, const std::string& name,
                 onnx::TensorProto& tensor) {
    const std::vector<float>& reals = constant.floats;
    const std::vector<std::int64_t>& integers = constant.integers;
    const bool is_real = type == onnx::TensorProto::FLOAT;
    if (is_real ? reals.empty() : integers.empty())
        return false;
    switch (type) {
    case onnx::TensorProto::FLOAT:
        tensor.mutable_float_data()->Assign(reals.begin(), reals.end());
        break;
    case onnx::TensorProto::INT64:
        tensor.mutable_int64_data()->Assign(integers.begin(), integers.end());
        break;
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::BOOL:
        for (const std::int64_t integer : integers)
            tensor.add_int32_data(static_cast<std::int32_t>(integer));
        break;
    default:
        return false;
    }
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t size : constant.shape)
        tensor.add_dims(size);
    return true;
}

class ConditionFolder {
public:
    ConditionFolder(onnx::ModelProto& model, int opset, Libonnx& libonnx, const Evaluate& evaluate)
        : model_(model), graph_(*model.mutable_graph()), opset_(opset), libonnx_(libonnx),
          evaluate_(evaluate) {}

    bool has_conditions() const {
        return std::ranges::any_of(graph_.node(), [](const onnx::NodeProto& node) {
            return node.op_type() == "If" && is_onnx(node);
        });
    }

    // Whether anything came of it.
    bool step() {
        graph_.clear_value_info();
        libonnx_.infer_shapes(model_);
        read_types();
        const bool has_folded = fold_constants();
        const bool has_inlined = inline_branches();
        graph_.clear_value_info(); // said of what is another graph now
        return has_folded || has_inlined;
    }

private:
    void read_types() {
        infos_.clear();
        for (const auto* list : {&graph_.value_info(), &graph_.input(), &graph_.output()})
            for (const auto& info : *list)
                infos_[info.name()] = info;
        constants_.clear();
        for (const auto& tensor : graph_.initializer())
            constants_[tensor.name()] = &tensor;
    }

    // Whether the node's outputs follow from `known` and from shapes alone.
    bool is_constant(const onnx::NodeProto& node, const std::set<std::string>& known) const {
        static const std::set<std::string> others = {"Bernoulli",         "If",
                                                     "Loop",              "Multinomial",
                                                     "RandomNormal",      "RandomNormalLike",
                                                     "RandomUniform",     "RandomUniformLike",
                                                     "Scan"};
        if (!is_onnx(node) || has_graphs(node) || others.contains(node.op_type()))
            return false;
        if (node.op_type() == "Constant")
            return true;
        const bool asks_for_shape = node.op_type() == "Shape" || node.op_type() == "Size";
        if (asks_for_shape && node.input_size() == 1 && !known.contains(node.input(0))) {
            const auto info = infos_.find(node.input(0));
            return info != infos_.end() && static_shape(info->second);
        }
        return node.input_size() > 0 && std::ranges::all_of(node.input(), [&](const auto& name) {
                   return name.empty() || known.contains(name) || constants_.contains(name);
               });
    }

    // The nodes that have constant outputs, as a model of their own.
    onnx::ModelProto constant_part(std::vector<int>& numbers) const {
        onnx::ModelProto part;
        part.set_ir_version(8);
        auto* opset = part.add_opset_import();
        opset->set_version(opset_);
        onnx::GraphProto& graph = *part.mutable_graph();
        graph.set_name("constants");
        std::set<std::string> known, given;
        for (int number = 0; number < graph_.node_size(); ++number) {
            const onnx::NodeProto& node = graph_.node(number);
            if (!is_constant(node, known))
                continue;
            numbers.push_back(number);
            *graph.add_node() = node;
            for (const std::string& name : node.input()) {
                if (name.empty() || known.contains(name) || !given.insert(name).second)
                    continue;
                if (const auto constant = constants_.find(name); constant != constants_.end())
                    *graph.add_initializer() = *constant->second;
                else
                    *graph.add_input() = infos_.at(name);
            }
            for (const std::string& name : node.output()) {
                known.insert(name);
                if (const auto info = infos_.find(name); info != infos_.end())
                    *graph.add_output() = info->second;
            }
        }
        return part;
    }

    bool fold_constants() {
        std::vector<int> numbers;
        onnx::ModelProto part = constant_part(numbers);
        if (part.graph().output_size() == 0)
            return false;
        std::map<std::string, Constant> values;
        try {
            if (opset_ < opset_of_evaluation)
                libonnx_.convert(part, opset_of_evaluation);
            values = evaluate_(part);
        } catch (const CompileError&) {
            return false; // whoever wants the constants says so
        }
        bool any = false;
        for (const int number : numbers)
            any = replace(*graph_.mutable_node(number), values) || any;
        remove_emptied();
        read_types();
        return any;
    }

    // Constants in the place of the node, if all of its outputs are known.
    bool replace(onnx::NodeProto& node, const std::map<std::string, Constant>& values) {
        std::vector<onnx::TensorProto> tensors;
        for (const std::string& name : node.output()) {
            const auto value = values.find(name);
            const auto info = infos_.find(name);
            if (value == values.end() || info == infos_.end() ||
                !write_typed(value->second, info->second.type().tensor_type().elem_type(), name,
                             tensors.emplace_back()))
                return false;
        }
        for (onnx::TensorProto& tensor : tensors)
            *graph_.add_initializer() = std::move(tensor);
        node.Clear();
        return true;
    }

    void remove_emptied() {
        google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
        for (onnx::NodeProto& node : *graph_.mutable_node())
            if (!node.op_type().empty())
                kept.Add()->Swap(&node);
        graph_.mutable_node()->Swap(&kept);
    }

    std::optional<bool> condition_of(const onnx::NodeProto& node) const {
        if (node.op_type() != "If" || !is_onnx(node) || node.input_size() != 1)
            return std::nullopt;
        const auto found = constants_.find(node.input(0));
        if (found == constants_.end())
            return std::nullopt;
        const Constant constant = read_constant(*found->second, "condition");
        return constant.integers.size() == 1 ? std::optional(constant.integers[0] != 0)
                                             : std::nullopt;
    }

    bool inline_branches() {
        std::set<std::string> names;
        for (const auto& [name, tensor] : constants_)
            names.insert(name);
        for (const auto& input : graph_.input())
            names.insert(input.name());
        for (const auto& node : graph_.node())
            names.insert(node.output().begin(), node.output().end());
        bool any = false;
        google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
        for (onnx::NodeProto& node : *graph_.mutable_node()) {
            const std::optional<bool> condition = condition_of(node);
            const onnx::GraphProto* branch = condition ? branch_of(node, *condition) : nullptr;
            if (!branch) {
                nodes.Add()->Swap(&node);
                continue;
            }
            for (onnx::NodeProto& inner : inline_branch(node, *branch, graph_, names))
                nodes.Add()->Swap(&inner);
            any = true;
        }
        graph_.mutable_node()->Swap(&nodes);
        return any;
    }

    onnx::ModelProto& model_;
    onnx::GraphProto& graph_;
    const int opset_;
    Libonnx& libonnx_;
    const Evaluate& evaluate_;
    std::map<std::string, onnx::ValueInfoProto> infos_;
    std::map<std::string, const onnx::TensorProto*> constants_;
};

// The graph's inputs that a tensor is computed from.
std::set<std::string> inputs_behind(const onnx::GraphProto& graph, const std::string& name) {
    std::set<std::string> wanted = {name}, inputs;
    for (int number = graph.node_size() - 1; number >= 0; --number) {
        const auto& node = graph.node(number);
        if (std::ranges::any_of(node.output(),
                                [&](const auto& output) { return wanted.contains(output); }))
            wanted.insert(node.input().begin(), node.input().end());
    }
    for (const auto& input : graph.input())
        if (wanted.contains(input.name()))
            inputs.insert(input.name());
    return inputs;
}

} // namespace

void fold_conditions(onnx::ModelProto& model, int opset, Libonnx& libonnx,
                     const Evaluate& evaluate) {
    ConditionFolder folder(model, opset, libonnx, evaluate);
    while (folder.has_conditions() && folder.step()) {
    }
}

std::string reason_of_control_flow(const onnx::GraphProto& graph, const onnx::NodeProto& node) {
    if (node.op_type() == "Loop" || node.op_type() == "Scan")
        return "loops are not supported";
    if (node.op_type() != "If" || node.input_size() != 1)
        return "graphs in nodes are not supported";
    const std::set<std::string> inputs = inputs_behind(graph, node.input(0));
    std::string names;
    for (const std::string& name : inputs)
        names += (names.empty() ? "'" : ", '") + name + "'";
    std::string reason = "its condition '" + node.input(0) + "' is only known at run time";
    if (!inputs.empty())
        reason += ", from " + names;
    if (inputs.size() == 1)
        reason += "; if that is always the same, give it with --set-input " + *inputs.begin() +
                  "=VALUE";
    return reason;
}

} // namespace overtake::compiler
