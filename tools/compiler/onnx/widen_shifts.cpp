// SPDX-License-Identifier: MIT
#include "compiler/onnx/widen_shifts.hpp"

#include <string>

#include "compiler/onnx/rewrite.hpp"

namespace overtake::compiler {
namespace {

constexpr int opset = 13;

void widen_shift(Rewrite& r) {
    if (r.facts.type(r.node.input(0)) != onnx::TensorProto::UINT8 || r.node.input_size() != 2)
        return;
    const std::string direction = r.attributes().text("direction", "");
    const std::string wide = r.build.cast(r.node.input(0), onnx::TensorProto::UINT32);
    const std::string by = r.build.cast(r.node.input(1), onnx::TensorProto::UINT32);
    onnx::NodeProto& shift = r.build.node("BitShift", {wide, by});
    set_text(shift, "direction", direction);
    std::string result = shift.output(0);
    if (direction != "RIGHT")
        result = r.build("Mod", {result, r.build.number(onnx::TensorProto::UINT32, 256)});
    set_integer(r.build.last("Cast", {result}), "to", onnx::TensorProto::UINT8);
}

} // namespace

void widen_shifts(onnx::ModelProto& model, Libonnx& libonnx, Refusals& refusals) {
    static const RewriteRules rules = {{"BitShift", widen_shift}};
    if (!has_any(model.graph(), rules))
        return;
    libonnx.infer_shapes(model);
    rewrite_nodes(model, opset, rules, refusals);
}

} // namespace overtake::compiler
