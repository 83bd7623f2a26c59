// SPDX-License-Identifier: MIT
#include "compiler/onnx/decompose.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace overtake::compiler {
namespace {

using Numbers = std::vector<std::int64_t>;
constexpr std::int64_t most_constants = 1 << 24;

// Adds a reduction of a tensor over axes.
std::string reduced(Rewrite& r, const char* type, const std::string& tensor, const Numbers& axes,
                    bool keeps_axes = true) {
    onnx::NodeProto& made = r.build.node(type, {tensor});
    set_integers(made, "axes", axes);
    set_integer(made, "keepdims", keeps_axes ? 1 : 0);
    return made.output(0);
}

Numbers axes_from(std::size_t first, std::size_t rank) {
    Numbers axes;
    for (std::size_t axis = first; axis < rank; ++axis)
        axes.push_back(static_cast<std::int64_t>(axis));
    return axes;
}

void cast_like(Rewrite& r) {
    const int type = r.type(r.node.input(1));
    set_integer(r.build.last("Cast", {r.node.input(0)}), "to", type);
}

// Computes the second and third output: the mean and the reciprocal of the standard deviation.
void layer_normalization(Rewrite& r) {
    if (!r.has_output(1) && !r.has_output(2))
        return;
    const std::string x = r.node.input(0);
    const std::size_t rank = r.rank(x);
    const auto first =
        static_cast<std::size_t>(r.axes_in(rank, {r.attributes().integer("axis", -1)})[0]);
    const std::vector<std::string> inputs(r.node.input().begin(), r.node.input().end());
    if (r.has_output(0))
        *r.build.last("LayerNormalization", inputs).mutable_attribute() = r.node.attribute();
    std::string mean = reduced(r, "ReduceMean", x, axes_from(first, rank));
    if (r.has_output(1))
        r.build.last("Identity", {mean}, 1);
    if (!r.has_output(2))
        return;
    const std::string difference = r.build("Sub", {x, mean});
    const std::string variance =
        reduced(r, "ReduceMean", r.build("Mul", {difference, difference}), axes_from(first, rank));
    const std::string epsilon = r.build.real(r.attributes().real("epsilon", 1e-5f));
    r.build.last("Reciprocal", {r.build("Sqrt", {r.build("Add", {variance, epsilon})})}, 2);
}

// Writes a Dropout with a mask: for inference the mask is all true.
void dropout(Rewrite& r) {
    if (!r.has_output(1))
        return;
    if (r.has_input(2) && r.constant(2, "modes") != Numbers{0})
        throw CannotRewrite{"is in training mode; export the model for inference"};
    const std::string x = r.node.input(0);
    if (r.has_output(0))
        r.build.last("Identity", {x});
    onnx::NodeProto& mask = r.build.last("ConstantOfShape", {r.build("Shape", {x})}, 1);
    auto& value = *mask.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(onnx::TensorProto::BOOL);
    value.mutable_t()->add_dims(1);
    value.mutable_t()->add_int32_data(1);
}

// Writes NonZero as a constant: the number of its results depends on the data, which has to be
// known.
void non_zero(Rewrite& r) {
    const std::string x = r.node.input(0);
    const auto integers = r.facts.integers(x);
    const auto reals = integers ? std::nullopt : r.facts.reals(x);
    if (!integers && !reals)
        throw CannotRewrite{"how many elements are not zero is only known at run time; it is "
                            "supported for constants of up to 1024 elements"};
    Numbers shape = r.shape(x);
    const std::size_t count = integers ? integers->size() : reals->size();
    Numbers places; // flat
    for (std::size_t index = 0; index < count; ++index)
        if (integers ? (*integers)[index] != 0 : (*reals)[index] != 0)
            places.push_back(static_cast<std::int64_t>(index));
    if (places.empty())
        throw CannotRewrite{"its constant is all zeros, and its result would be empty"};
    if (shape.empty())
        shape = {1};
    Numbers rows;
    std::int64_t below = static_cast<std::int64_t>(count);
    for (const std::int64_t size : shape) {
        below /= size;
        for (const std::int64_t place : places)
            rows.push_back(place / below % size);
    }
    r.build.last("Identity", {r.build.integers(rows, {static_cast<std::int64_t>(shape.size()),
                                                      static_cast<std::int64_t>(places.size())})});
}

// Writes BitShift with powers of two: integers up to 2^24 are exact, and so are these products.
void bit_shift(Rewrite& r) {
    const int type = r.facts.type(r.node.input(0)).value_or(onnx::TensorProto::UINT8);
    const int bits = type == onnx::TensorProto::UINT8    ? 8
                     : type == onnx::TensorProto::UINT16 ? 16
                     : type == onnx::TensorProto::UINT32 ? 32
                                                         : 64;
    const std::string x = r.build.cast(r.node.input(0), onnx::TensorProto::FLOAT);
    const std::string power =
        r.build("Pow", {r.build.real(2), r.build.cast(r.node.input(1), onnx::TensorProto::FLOAT)});
    std::string shifted;
    if (r.attributes().text("direction", "") == "RIGHT") {
        shifted = r.build("Floor", {r.build("Div", {x, power})});
    } else {
        onnx::NodeProto& rest =
            r.build.node("Mod", {r.build("Mul", {x, power}), r.build.real(std::ldexp(1.0f, bits))});
        set_integer(rest, "fmod", 1);
        shifted = rest.output(0);
    }
    set_integer(r.build.last("Cast", {shifted}), "to", type);
}

void mean_variance_normalization(Rewrite& r) {
    const std::string x = r.node.input(0);
    const Numbers axes = r.axes_in(r.rank(x), r.attributes().integers("axes", {0, 2, 3}));
    const std::string difference = r.build("Sub", {x, reduced(r, "ReduceMean", x, axes)});
    const std::string variance =
        reduced(r, "ReduceMean", r.build("Mul", {difference, difference}), axes);
    const std::string deviation =
        r.build("Add", {r.build("Sqrt", {variance}), r.build.real(1e-9f)});
    r.build.last("Div", {difference, deviation});
}

// The device has no windows that are wholly in the padding, as some of a 1x1 kernel with padding
// are.
void convolution_in_padding(Rewrite& r) {
    if (!r.has_input(1))
        return;
    const auto in = r.facts.shape(r.node.input(0)), weights = r.facts.shape(r.node.input(1));
    if (!in || !weights || in->size() < 3 || weights->size() != in->size() ||
        r.attributes().text("auto_pad", "NOTSET") != "NOTSET")
        return;
    const std::size_t axes = in->size() - 2;
    const Numbers pads = r.attributes().integers("pads", Numbers(2 * axes));
    const Numbers strides = r.attributes().integers("strides", Numbers(axes, 1));
    const Numbers dilations = r.attributes().integers("dilations", Numbers(axes, 1));
    if (pads.size() != 2 * axes || strides.size() != axes || dilations.size() != axes)
        return;
    bool is_beyond = false;
    for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::int64_t front = pads[axis], behind = pads[axes + axis];
        const std::int64_t extent = ((*weights)[axis + 2] - 1) * dilations[axis] + 1;
        const std::int64_t size = (*in)[axis + 2], room = size + front + behind - extent;
        if (front < 0 || behind < 0 || strides[axis] < 1 || room < 0)
            return;
        const std::int64_t last = room / strides[axis] * strides[axis] - front;
        is_beyond = is_beyond || front >= extent || last >= size;
    }
    if (!is_beyond)
        return;
    Numbers all(2 * in->size());
    std::copy_n(pads.begin(), axes, all.begin() + 2);
    std::copy_n(pads.begin() + static_cast<std::ptrdiff_t>(axes), axes,
                all.end() - static_cast<std::ptrdiff_t>(axes));
    std::vector<std::string> inputs(r.node.input().begin(), r.node.input().end());
    inputs[0] = r.build("Pad", {inputs[0], r.build.integers(all)});
    onnx::NodeProto& made = r.build.last("Conv", inputs);
    for (const auto& attribute : r.node.attribute())
        if (attribute.name() != "pads")
            *made.add_attribute() = attribute;
}

const char* norm_of(Rewrite& r) {
    const std::int64_t p = r.attributes().integer("p", 2);
    if (p != 1 && p != 2)
        throw CannotRewrite{"its p is " + std::to_string(p) + "; 1 and 2 are supported"};
    return p == 1 ? "ReduceL1" : "ReduceL2";
}

// Divides by the norm; elements that are all 0 stay 0.
void lp_normalization(Rewrite& r) {
    const std::string x = r.node.input(0);
    const Numbers axis = r.axes_in(r.rank(x), {r.attributes().integer("axis", -1)});
    const std::string norm = reduced(r, norm_of(r), x, axis);
    constexpr float least = 1.17549435e-38f;
    r.build.last("Div", {x, r.build("Max", {norm, r.build.real(least)})});
}

void global_lp_pool(Rewrite& r) {
    const std::string x = r.node.input(0);
    if (r.rank(x) < 3)
        throw CannotRewrite{"its input has no axes to pool over"};
    onnx::NodeProto& made = r.build.last(norm_of(r), {x});
    set_integers(made, "axes", axes_from(2, r.rank(x)));
}

// Computes a sum as the average over whole windows, with zeros of the padding, times their size.
void lp_pool(Rewrite& r) {
    const std::string x = r.node.input(0);
    const bool is_square = norm_of(r) == std::string("ReduceL2");
    const Numbers kernel = r.attributes().integers("kernel_shape", {});
    const std::string powers = is_square ? r.build("Mul", {x, x}) : r.build("Abs", {x});
    onnx::NodeProto& mean = r.build.node("AveragePool", {powers});
    for (const auto& attribute : r.node.attribute())
        if (attribute.name() != "p" && attribute.name() != "dilations")
            *mean.add_attribute() = attribute;
    for (const std::int64_t dilation : r.attributes().integers("dilations", {}))
        if (dilation != 1)
            throw CannotRewrite{"its dilations are not 1; a dilated pool is not supported"};
    if (r.attributes().integer("ceil_mode", 0) != 0)
        throw CannotRewrite{"its ceil_mode is 1; export it with pads"};
    set_integer(mean, "count_include_pad", 1);
    float size = 1;
    for (const std::int64_t length : kernel)
        size *= static_cast<float>(length);
    const std::string means = mean.output(0), factor = r.build.real(size);
    if (is_square)
        r.build.last("Sqrt", {r.build("Mul", {means, factor})});
    else
        r.build.last("Mul", {means, factor});
}

// Averages squares over `size` channels; channels outside the tensor count as 0.
void local_response_normalization(Rewrite& r) {
    const std::string x = r.node.input(0);
    const Numbers shape = r.shape(x);
    const Attributes attributes = r.attributes();
    const std::int64_t size = attributes.integer("size", 0);
    if (shape.size() < 2 || size < 1 || size > (1 << 16))
        throw CannotRewrite{"it has no channels, or a size that is no number of channels; is the "
                            "file damaged?"};
    const std::string squares = r.build("Mul", {x, x});
    const std::string rows = r.build.reshaped(squares, {shape[0], 1, shape[1], -1});
    onnx::NodeProto& pool = r.build.node("AveragePool", {rows});
    set_integers(pool, "kernel_shape", {size, 1});
    set_integers(pool, "pads", {(size - 1) / 2, 0, size / 2, 0});
    set_integer(pool, "count_include_pad", 1);
    const std::string means = pool.output(0);
    const std::string scaled =
        r.build("Mul", {means, r.build.real(attributes.real("alpha", 1e-4f))});
    const std::string base = r.build("Add", {scaled, r.build.real(attributes.real("bias", 1))});
    const std::string factor =
        r.build("Pow", {base, r.build.real(-attributes.real("beta", 0.75f))});
    r.build.last("Mul", {x, r.build.reshaped(factor, shape)});
}

// Keeps the elements on one side of a diagonal; the others become 0.
void triangle(Rewrite& r) {
    const std::string x = r.node.input(0);
    const Numbers shape = r.shape(x);
    const Numbers diagonal = r.has_input(1) ? r.constant(1, "diagonals") : Numbers{0};
    const bool is_upper = r.attributes().integer("upper", 1) != 0;
    if (shape.size() < 2 || diagonal.size() != 1)
        throw CannotRewrite{"its input is no matrix, or it has no diagonal; is the file damaged?"};
    const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
    if (rows * columns > most_constants)
        throw CannotRewrite{"its matrix has more than 16777216 elements"};
    const int type = r.facts.type(x).value_or(onnx::TensorProto::FLOAT);
    static const std::set<int> types = {onnx::TensorProto::FLOAT, onnx::TensorProto::DOUBLE,
                                        onnx::TensorProto::INT64, onnx::TensorProto::INT32,
                                        onnx::TensorProto::INT8,  onnx::TensorProto::UINT8,
                                        onnx::TensorProto::BOOL};
    if (!types.contains(type))
        throw CannotRewrite{
            "its type is " +
            onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(type)) +
            ", which is not supported; export the model in float32"};
    const std::int64_t k = std::clamp(diagonal[0], -rows - 1, columns + 1);
    std::vector<bool> kept;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
            kept.push_back(is_upper ? column - row >= k : column - row <= k);
    r.build.last("Where", {r.build.truths(kept, {rows, columns}), x, r.build.number(type, 0)});
}

// Makes the identity matrix of the input's shape.
void identity_matrix(Rewrite& r) {
    const Numbers shape = r.shape(r.node.input(0));
    if (shape.size() != 2 || shape[0] * shape[1] > most_constants)
        throw CannotRewrite{"its input is no matrix, or has more than 16777216 elements"};
    const std::int64_t k = r.attributes().integer("k", 0);
    Numbers numbers;
    for (std::int64_t row = 0; row < shape[0]; ++row)
        for (std::int64_t column = 0; column < shape[1]; ++column)
            numbers.push_back(column - row == k ? 1 : 0);
    const std::int64_t type = r.attributes().integer("dtype", r.type(r.node.input(0)));
    set_integer(r.build.last("Cast", {r.build.integers(numbers, shape)}), "to", type);
}

} // namespace

const RewriteRules& decompositions() {
    static const RewriteRules table = {
        {"BitShift", bit_shift},
        {"CastLike", cast_like},
        {"Conv", convolution_in_padding},
        {"Dropout", dropout},
        {"Einsum", decompose_einsum},
        {"EyeLike", identity_matrix},
        {"GatherND", decompose_gather_nd},
        {"GlobalLpPool", global_lp_pool},
        {"LRN", local_response_normalization},
        {"LayerNormalization", layer_normalization},
        {"LpNormalization", lp_normalization},
        {"LpPool", lp_pool},
        {"MaxUnpool", decompose_max_unpool},
        {"MeanVarianceNormalization", mean_variance_normalization},
        {"NonZero", non_zero},
        {"OneHot", decompose_one_hot},
        {"ScatterND", decompose_scatter_nd},
        {"Trilu", triangle},
    };
    return table;
}

std::vector<std::string> decomposed_operators() {
    // Import takes the usual forms of these operators.
    static const std::vector<std::string> others = {"Conv", "Dropout", "LayerNormalization"};
    std::vector<std::string> names = {"Gelu", "GroupNormalization", "Mish", "RMSNormalization",
                                      "Swish"};
    for (const auto& [type, rule] : decompositions())
        if (std::ranges::find(others, type) == others.end())
            names.push_back(type);
    for (const auto& [type, rule] : fused_operators())
        if (std::ranges::find(names, type) == names.end())
            names.push_back(type);
    return names;
}

} // namespace overtake::compiler
