// SPDX-License-Identifier: MIT
#include "compiler/onnx/old_resizes.hpp"

#include "compiler/onnx/node_builder.hpp"

namespace overtake::compiler {
namespace {

constexpr int first_opset_with_rules = 11;

} // namespace

void name_rule_of_old_resizes(onnx::ModelProto& converted, int opset) {
    if (opset >= first_opset_with_rules)
        return;
    // Conversion renames the tensors after an Upsample, so that their names tell nothing.
    for (auto& node : *converted.mutable_graph()->mutable_node())
        if (node.op_type() == "Resize") {
            set_text(node, "coordinate_transformation_mode", "asymmetric");
            auto& attribute = *node.add_attribute();
            attribute.set_name(is_from_before_11);
            attribute.set_type(onnx::AttributeProto::INT);
            attribute.set_i(1);
        }
}

} // namespace overtake::compiler
