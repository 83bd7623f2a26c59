// SPDX-License-Identifier: MIT
#include "compiler/onnx/settle_attributes.hpp"

#include "compiler/onnx/file.hpp"

namespace overtake::compiler {
namespace {

constexpr int first_opset_with_pad_inputs = 11;

void forget_ceil_mode(onnx::NodeProto& node) {
    if (!Attributes(node).text("auto_pad", "NOTSET").starts_with("SAME_"))
        return;
    for (auto& attribute : *node.mutable_attribute())
        if (attribute.name() == "ceil_mode")
            attribute.set_i(0);
}

void write_pad_value(onnx::NodeProto& node) {
    if (Attributes(node).has("value"))
        return;
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(0);
}

} // namespace

void settle_attributes(onnx::ModelProto& model, int opset) {
    for (auto& node : *model.mutable_graph()->mutable_node()) {
        if (node.op_type() == "AveragePool" || node.op_type() == "MaxPool")
            forget_ceil_mode(node);
        else if (node.op_type() == "Pad" && opset < first_opset_with_pad_inputs)
            write_pad_value(node);
    }
}

} // namespace overtake::compiler
