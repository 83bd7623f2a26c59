// SPDX-License-Identifier: MIT
#include "compiler/onnx/half_precision.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "compiler/ir/half.hpp"

namespace overtake::compiler {
namespace {

bool is_half(int type) {
    return type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16;
}

float from_bfloat16(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// Widens the elements that the tensor has; another function checks that they are as many as the
// shape says.
bool widen_tensor(onnx::TensorProto& tensor) {
    if (!is_half(tensor.data_type()))
        return false;
    const auto widen =
        tensor.data_type() == onnx::TensorProto::FLOAT16 ? from_float16 : from_bfloat16;
    std::vector<float> reals;
    if (tensor.has_raw_data()) {
        const std::string& raw = tensor.raw_data();
        for (std::size_t at = 0; at + sizeof(std::uint16_t) <= raw.size();
             at += sizeof(std::uint16_t)) {
            std::uint16_t bits = 0;
            std::memcpy(&bits, raw.data() + at, sizeof(bits));
            reals.push_back(widen(bits));
        }
    } else {
        for (const std::int32_t bits : tensor.int32_data())
            reals.push_back(widen(static_cast<std::uint16_t>(bits)));
    }
    tensor.clear_int32_data();
    tensor.set_raw_data(reals.data(), reals.size() * sizeof(float));
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    return true;
}

bool widen_type(onnx::TypeProto& type) {
    if (type.has_sequence_type())
        return widen_type(*type.mutable_sequence_type()->mutable_elem_type());
    if (!type.has_tensor_type() || !is_half(type.tensor_type().elem_type()))
        return false;
    type.mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    return true;
}

bool widen_node(onnx::NodeProto& node) {
    bool any = false;
    for (auto& attribute : *node.mutable_attribute()) {
        const bool is_type = attribute.name() == "to" || attribute.name() == "dtype";
        if (is_type && is_half(static_cast<int>(attribute.i()))) {
            attribute.set_i(onnx::TensorProto::FLOAT);
            any = true;
        }
        if (attribute.has_t())
            any = widen_tensor(*attribute.mutable_t()) || any;
        if (attribute.has_g())
            any = widen_half_precision(*attribute.mutable_g()) || any;
        for (auto& graph : *attribute.mutable_graphs())
            any = widen_half_precision(graph) || any;
    }
    return any;
}

} // namespace

bool widen_half_precision(onnx::GraphProto& graph) {
    bool any = false;
    for (auto& tensor : *graph.mutable_initializer())
        any = widen_tensor(tensor) || any;
    for (auto& node : *graph.mutable_node())
        any = widen_node(node) || any;
    for (auto* infos : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
        for (auto& info : *infos)
            any = widen_type(*info.mutable_type()) || any;
    return any;
}

} // namespace overtake::compiler
