// SPDX-License-Identifier: MIT
#include "compiler/onnx/tensor_facts.hpp"

#include <algorithm>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/file.hpp"

namespace overtake::compiler {
namespace {

constexpr std::int64_t most_elements = 1 << 10; // of axes, pads, scales, sizes

bool is_short(const onnx::TensorProto& tensor) {
    std::int64_t count = 1;
    for (const std::int64_t size : tensor.dims())
        if (size < 0 || size > most_elements || (count *= size) > most_elements)
            return false;
    return true;
}

} // namespace

void TensorFacts::add(const onnx::ValueInfoProto& info) {
    if (!info.type().has_tensor_type())
        return;
    Fact& fact = facts_[info.name()];
    fact.type = info.type().tensor_type().elem_type();
    fact.has_rank = info.type().tensor_type().has_shape();
    fact.sizes.clear();
    for (const auto& size : info.type().tensor_type().shape().dim())
        fact.sizes.push_back(size.has_dim_value() ? size.dim_value() : -1);
}

void TensorFacts::add_constant(const std::string& name, const onnx::TensorProto& tensor) {
    facts_[name] = {tensor.data_type(), true, {tensor.dims().begin(), tensor.dims().end()}};
    if (is_short(tensor))
        constants_[name] = tensor;
}

// Adds the value of a Constant, which may be a number or a list.
void TensorFacts::add_list(const std::string& name, const onnx::AttributeProto& attribute) {
    onnx::TensorProto tensor;
    if (attribute.name() == "value" && attribute.has_t()) {
        add_constant(name, attribute.t());
        return;
    }
    if (attribute.name() == "value_int" || attribute.name() == "value_ints") {
        tensor.set_data_type(onnx::TensorProto::INT64);
        *tensor.mutable_int64_data() = attribute.ints();
        if (attribute.name() == "value_int")
            tensor.add_int64_data(attribute.i());
        tensor.add_dims(tensor.int64_data_size());
    } else if (attribute.name() == "value_float" || attribute.name() == "value_floats") {
        tensor.set_data_type(onnx::TensorProto::FLOAT);
        *tensor.mutable_float_data() = attribute.floats();
        if (attribute.name() == "value_float")
            tensor.add_float_data(attribute.f());
        tensor.add_dims(tensor.float_data_size());
    } else {
        return;
    }
    if (!attribute.name().ends_with('s'))
        tensor.clear_dims();
    add_constant(name, tensor);
}

void TensorFacts::add(const onnx::GraphProto& graph) {
    for (const auto* infos : {&graph.value_info(), &graph.output(), &graph.input()})
        for (const auto& info : *infos)
            add(info);
    for (const auto& tensor : graph.initializer())
        add_constant(tensor.name(), tensor);
    for (const auto& node : graph.node())
        for (const auto& attribute : node.attribute()) {
            if (node.op_type() == "Constant" && node.output_size() > 0)
                add_list(node.output(0), attribute);
            if (attribute.has_g())
                add(attribute.g());
            for (const auto& inner : attribute.graphs())
                add(inner);
        }
}

std::optional<int> TensorFacts::type(const std::string& tensor) const {
    const auto found = facts_.find(tensor);
    if (found == facts_.end() || found->second.type == onnx::TensorProto::UNDEFINED)
        return std::nullopt;
    return found->second.type;
}

std::optional<std::size_t> TensorFacts::rank(const std::string& tensor) const {
    const auto found = facts_.find(tensor);
    if (found == facts_.end() || !found->second.has_rank)
        return std::nullopt;
    return found->second.sizes.size();
}

std::optional<std::vector<std::int64_t>> TensorFacts::shape(const std::string& tensor) const {
    const auto found = facts_.find(tensor);
    if (found == facts_.end() || !found->second.has_rank ||
        std::ranges::any_of(found->second.sizes, [](std::int64_t size) { return size < 0; }))
        return std::nullopt;
    return found->second.sizes;
}

std::optional<std::vector<std::int64_t>> TensorFacts::integers(const std::string& tensor) const {
    const auto found = constants_.find(tensor);
    if (found == constants_.end())
        return std::nullopt;
    try {
        const Constant constant = read_constant(found->second, tensor);
        if (constant.floats.empty())
            return constant.integers;
    } catch (const CompileError&) { // checked, and refused, with all constants of the file
    }
    return std::nullopt;
}

std::optional<std::vector<float>> TensorFacts::reals(const std::string& tensor) const {
    const auto found = constants_.find(tensor);
    if (found == constants_.end())
        return std::nullopt;
    try {
        const Constant constant = read_constant(found->second, tensor);
        if (constant.integers.empty())
            return constant.floats;
    } catch (const CompileError&) { // as above
    }
    return std::nullopt;
}

} // namespace overtake::compiler
