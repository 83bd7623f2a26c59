// SPDX-License-Identifier: MIT
#include "compiler/onnx/qdq_nodes.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {

using onnx::NodeProto;
using onnx::TensorProto;

bool is_byte(int type) {
    return type == TensorProto::INT8 || type == TensorProto::UINT8;
}

static std::string type_name(int type) {
    if (!TensorProto::DataType_IsValid(type))
        return "of type " + std::to_string(type);
    std::string name = TensorProto::DataType_Name(static_cast<TensorProto::DataType>(type));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name;
}

QdqNodes::QdqNodes(const onnx::GraphProto& graph, const std::string& path) : path_(path) {
    for (const TensorProto& tensor : graph.initializer())
        constants_[tensor.name()] = &tensor;
    for (const NodeProto& node : graph.node())
        if (node.op_type() == "Constant")
            for (const auto& attribute : node.attribute())
                if (attribute.name() == "value")
                    constants_[node.output(0)] = &attribute.t();
}

void QdqNodes::refuse(const std::string& reason) const {
    const std::string& name = node_->name().empty() ? node_->output(0) : node_->name();
    throw CompileError(path_, "node '" + name + "' (" + node_->op_type() + "): " + reason);
}

const std::string& QdqNodes::input(int index) const {
    if (index >= node_->input_size() || node_->input(index).empty())
        refuse("input " + std::to_string(index) + " is missing");
    return node_->input(index);
}

const TensorProto* QdqNodes::constant(const std::string& name) const {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : found->second;
}

std::vector<float> QdqNodes::floats(int index) const {
    const TensorProto* tensor = constant(input(index));
    if (!tensor || tensor->data_type() != TensorProto::FLOAT)
        refuse("input '" + input(index) + "' must be a float32 constant");
    return elements<float>(*tensor, tensor->float_data());
}

template <typename Element, typename Repeated>
std::vector<Element> QdqNodes::elements(const TensorProto& tensor, const Repeated& repeated) const {
    std::size_t count = 1;
    for (std::int64_t size : tensor.dims())
        if (size < 0 || __builtin_mul_overflow(count, static_cast<std::size_t>(size), &count))
            refuse("constant '" + tensor.name() + "' has an impossible shape");
    std::vector<Element> result;
    if (tensor.has_raw_data()) {
        const std::string& raw = tensor.raw_data();
        result.resize(raw.size() / sizeof(Element));
        if (!result.empty())
            std::memcpy(result.data(), raw.data(), result.size() * sizeof(Element));
    } else {
        result.assign(repeated.begin(), repeated.end());
    }
    if (result.size() != count)
        refuse("constant '" + tensor.name() + "' has more or fewer elements than its shape says");
    return result;
}

Integers QdqNodes::integers(const TensorProto& tensor) const {
    Integers result{tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()}, {}};
    const auto fill = [&]<typename Element>(Element) {
        const auto data = elements<Element>(tensor, tensor.int32_data());
        result.data.assign(data.begin(), data.end());
    };
    if (tensor.data_type() == TensorProto::INT8)
        fill(std::int8_t{});
    else if (tensor.data_type() == TensorProto::UINT8)
        fill(std::uint8_t{});
    else if (tensor.data_type() == TensorProto::INT32)
        fill(std::int32_t{});
    else
        refuse("constant '" + tensor.name() + "' is " + type_name(tensor.data_type()) +
               "; quantised tensors are int8 or uint8, and biases int32");
    return result;
}

// Returns an integer constant, as the model has it or made by QuantizeLinear.
std::optional<Integers> QdqNodes::integer_constant(const std::string& name) const {
    if (const auto found = folded_.find(name); found != folded_.end())
        return found->second;
    if (const TensorProto* tensor = constant(name))
        return integers(*tensor);
    return std::nullopt;
}

// Returns the zero points of `scale_index`'s tensor and their type.
Integers QdqNodes::zero_points(int scale_index, std::size_t count, int otherwise) const {
    const int index = scale_index + 1;
    if (index >= node_->input_size() || node_->input(index).empty())
        return {otherwise, {}, std::vector<std::int32_t>(count, 0)};
    const auto zeros = integer_constant(node_->input(index));
    if (!zeros || zeros->data.size() != count)
        refuse("input '" + node_->input(index) +
               "' must be a constant with as many elements as there are scales");
    return *zeros;
}

float QdqNodes::positive(float scale) const {
    if (!(scale > 0) || !std::isfinite(scale))
        refuse("a scale of " + std::to_string(scale) + " means nothing");
    return scale;
}

// Returns the quantisation of an activation with one scale and zero point, as signed bytes.
Quantisation QdqNodes::activation(int scale_index, int otherwise) const {
    const std::vector<float> scale = floats(scale_index);
    if (scale.size() != 1)
        refuse("a tensor that is computed has one scale for each channel; quantise it with "
               "one for all");
    const Integers zero = zero_points(scale_index, 1, otherwise);
    check_type(zero.type);
    const int shift = zero.type == TensorProto::UINT8 ? 128 : 0;
    return {positive(scale[0]), zero.data[0] - shift};
}

void QdqNodes::check_type(int type) const {
    if (!is_byte(type))
        refuse("quantises to " + type_name(type) + "; only int8 and uint8 are supported");
}

int QdqNodes::output_type() const {
    const auto type = static_cast<int>(attribute("output_dtype", 0));
    return type == 0 ? int{TensorProto::UINT8} : type;
}

void QdqNodes::check_blocks() const {
    if (attribute("block_size", 0) != 0)
        refuse("has a scale for each block (block_size); quantise with one for each tensor or "
               "output channel");
}

std::int64_t QdqNodes::attribute(const char* name, std::int64_t otherwise) const {
    for (const auto& given : node_->attribute())
        if (given.name() == name)
            return given.i();
    return otherwise;
}

float QdqNodes::real_attribute(const char* name, float otherwise) const {
    for (const auto& given : node_->attribute())
        if (given.name() == name)
            return given.f();
    return otherwise;
}

std::string QdqNodes::text_attribute(const char* name, const char* otherwise) const {
    for (const auto& given : node_->attribute())
        if (given.name() == name)
            return given.s();
    return otherwise;
}

// Returns how many elements in a row have the same scale.
std::size_t QdqNodes::inner_size(const std::vector<std::int64_t>& shape, std::size_t scales,
                                 std::int64_t axis) const {
    const auto rank = static_cast<std::int64_t>(shape.size());
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank ||
        shape[static_cast<std::size_t>(axis)] != static_cast<std::int64_t>(scales))
        refuse("its scales do not fit the axis of the tensor");
    std::size_t inner = 1;
    for (auto index = static_cast<std::size_t>(axis) + 1; index < shape.size(); ++index)
        inner *= static_cast<std::size_t>(shape[index]);
    return inner;
}

std::vector<float> QdqNodes::dequantised(const Integers& constant, int scale_index,
                                         std::int64_t axis) const {
    const std::vector<float> scales = floats(scale_index);
    const Integers zeros = zero_points(scale_index, scales.size(), constant.type);
    const std::size_t inner =
        scales.size() == 1 ? 1 : inner_size(constant.shape, scales.size(), axis);
    std::vector<float> data(constant.data.size());
    for (std::size_t index = 0; index < data.size(); ++index) {
        const std::size_t channel = index / inner % scales.size();
        data[index] = positive(scales[channel]) *
                      static_cast<float>(std::int64_t{constant.data[index]} - zeros.data[channel]);
    }
    return data;
}

void QdqNodes::fold_quantised_constant() {
    const TensorProto& tensor = *constant(input(0));
    if (tensor.data_type() != TensorProto::FLOAT)
        refuse("quantises a constant that is not float32");
    const std::vector<float> data = elements<float>(tensor, tensor.float_data());
    const std::vector<float> scales = floats(1);
    const Integers zeros = zero_points(1, scales.size(), output_type());
    check_type(zeros.type);
    Integers result{zeros.type, {tensor.dims().begin(), tensor.dims().end()}, {}};
    const std::size_t inner =
        scales.size() == 1 ? 1 : inner_size(result.shape, scales.size(), attribute("axis", 1));
    const double low = zeros.type == TensorProto::UINT8 ? 0 : -128, high = low + 255;
    for (std::size_t index = 0; index < data.size(); ++index) {
        const std::size_t channel = index / inner % scales.size();
        result.data.push_back(static_cast<std::int32_t>(std::clamp(
            std::nearbyint(double{data[index]} / positive(scales[channel])) + zeros.data[channel],
            low, high)));
    }
    folded_[node_->output(0)] = std::move(result);
}

} // namespace overtake::compiler
