// SPDX-License-Identifier: MIT
#include "compiler/onnx/old_resizes.hpp"

namespace overtake::compiler {
namespace {

constexpr int first_opset_with_rules = 11;

void set_text(onnx::NodeProto& node, const char* name, const char* text) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(text);
}

} // namespace

OldResizes::OldResizes(const onnx::ModelProto& model, int opset) {
    if (opset >= first_opset_with_rules)
        return;
    for (const auto& node : model.graph().node())
        if (node.op_type() == "Upsample" || node.op_type() == "Resize")
            outputs_.insert(node.output(0));
}

void OldResizes::name_their_rule(onnx::ModelProto& converted) const {
    for (auto& node : *converted.mutable_graph()->mutable_node())
        if (node.op_type() == "Resize" && outputs_.contains(node.output(0))) {
            set_text(node, "coordinate_transformation_mode", "asymmetric");
            auto& attribute = *node.add_attribute();
            attribute.set_name(is_from_before_11);
            attribute.set_type(onnx::AttributeProto::INT);
            attribute.set_i(1);
        }
}

} // namespace overtake::compiler
