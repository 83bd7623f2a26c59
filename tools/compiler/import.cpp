// SPDX-License-Identifier: MIT
#include "import.hpp"

#include <algorithm>
#include <filesystem>

#include "error.hpp"
#include "importer.hpp"

namespace overtake::compiler {

const std::map<std::string, Importer::Handler>& Importer::handlers() {
    static const std::map<std::string, Handler> table = {
        {"Add", &Importer::arithmetic},
        {"AveragePool", &Importer::pool},
        {"BatchNormalization", &Importer::batch_normalization},
        {"Clip", &Importer::clip},
        {"Constant", &Importer::constant},
        {"Concat", &Importer::concat},
        {"Conv", &Importer::convolution},
        {"ConvTranspose", &Importer::transposed_convolution},
        {"Div", &Importer::arithmetic},
        {"Dropout", &Importer::alias},
        {"Elu", &Importer::function},
        {"Flatten", &Importer::flatten},
        {"Gemm", &Importer::gemm},
        {"GlobalAveragePool", &Importer::global_pool},
        {"GlobalMaxPool", &Importer::global_pool},
        {"HardSigmoid", &Importer::function},
        {"HardSwish", &Importer::function},
        {"Identity", &Importer::alias},
        {"LeakyRelu", &Importer::function},
        {"MatMul", &Importer::matrix_product},
        {"Max", &Importer::extreme},
        {"MaxPool", &Importer::pool},
        {"Min", &Importer::extreme},
        {"Mul", &Importer::arithmetic},
        {"ReduceMean", &Importer::reduce_mean},
        {"Relu", &Importer::relu},
        {"Reshape", &Importer::reshape},
        {"Resize", &Importer::resize},
        {"Sigmoid", &Importer::function},
        {"Slice", &Importer::slice},
        {"Softmax", &Importer::softmax},
        {"Split", &Importer::split},
        {"Squeeze", &Importer::reshape},
        {"Sub", &Importer::arithmetic},
        {"Tanh", &Importer::function},
    };
    return table;
}

void Importer::read_constants() {
    if (model_.graph().sparse_initializer_size() > 0)
        throw CompileError(path_, "sparse constants are not supported; export dense ones");
    for (const auto& tensor : model_.graph().initializer())
        constants_[tensor.name()] = read_constant(tensor, path_);
}

void Importer::read_inputs() {
    for (const auto& input : model_.graph().input()) {
        if (constants_.contains(input.name()))
            continue;
        const std::string place = "input '" + input.name() + "' ";
        if (input.type().tensor_type().elem_type() != onnx::TensorProto::FLOAT)
            throw CompileError(path_, place + "is not float32; export the model in float32");
        const auto shape = static_shape(input);
        if (!shape)
            throw CompileError(path_, place + "has no static shape; export the model with one");
        const ValueId value = add_value(input.name(), *shape);
        graph_.inputs.push_back(value);
        references_[input.name()] = {value, *shape};
    }
    if (graph_.inputs.empty())
        throw CompileError(path_, "the model has no inputs; there is nothing to run");
}

void Importer::read_shapes() {
    for (const auto* list : {&model_.graph().value_info(), &model_.graph().output()})
        for (const auto& info : *list)
            if (const auto shape = static_shape(info))
                shapes_[info.name()] = *shape;
}

// Each output gets a value of its own that some node writes.
void Importer::read_outputs() {
    for (const auto& output : model_.graph().output()) {
        const auto found = references_.find(output.name());
        if (found == references_.end())
            throw CompileError(path_, "output '" + output.name() +
                                          "' is a constant; fold constants before export");
        Reference reference = found->second;
        const bool is_written = std::ranges::any_of(
            graph_.nodes, [&](const Node& node) { return node.output == reference.value; });
        if (!is_written ||
            std::ranges::find(graph_.outputs, reference.value) != graph_.outputs.end()) {
            Node node;
            node.name = output.name();
            node.onnx_type = "Identity";
            node.op = Operator::copy;
            node.inputs = {reference.value};
            graph_.values.push_back(value_of(reference));
            node.output = reference.value = graph_.values.size() - 1;
            graph_.nodes.push_back(std::move(node));
        }
        graph_.values[reference.value].name = output.name();
        graph_.values[reference.value].shape = reference.shape;
        graph_.outputs.push_back(reference.value);
    }
}

// The CPU segment comes after the BPU segment; nothing goes back.
void Importer::check_softmax() const {
    for (const Node& node : graph_.nodes)
        if (node.op == Operator::softmax)
            for (const Node& reader : graph_.nodes)
                if (std::ranges::find(reader.inputs, node.output) != reader.inputs.end())
                    throw CompileError(path_,
                                       describe(node) + ": is supported as the last operator only");
}

Graph Importer::run() {
    graph_.name = std::filesystem::path(path_).stem().string();
    read_constants();
    read_inputs();
    read_shapes();
    for (const auto& node : model_.graph().node()) {
        node_ = &node;
        const auto handler = handlers().find(node.op_type());
        if (handler == handlers().end() || !(node.domain().empty() || node.domain() == "ai.onnx"))
            refuse("the operator is not supported");
        (this->*handler->second)();
    }
    read_outputs();
    apply_given_tensors();
    check_softmax();
    return std::move(graph_);
}

Graph import_onnx(const std::string& path) {
    GivenScales given;
    const onnx::ModelProto model = load_onnx(path, given);
    return Importer(path, model, given).run();
}

} // namespace overtake::compiler
