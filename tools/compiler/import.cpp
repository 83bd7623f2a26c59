// SPDX-License-Identifier: MIT
#include "import.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error.hpp"
#include "onnx_file.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t max_dimension = 1 << 20;
constexpr std::int64_t max_window = 65535; // 16 bits in an instruction

// What a tensor name of the file stands for.  Flatten and the like give a value a second name
// with another shape.
struct Reference {
    ValueId value;
    Shape shape;
};

std::string to_text(const Shape& shape) {
    return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::size_t element_count(const Shape& shape) {
    std::size_t count = 1;
    for (std::int64_t size : shape)
        count *= static_cast<std::size_t>(size);
    return count;
}

class Importer {
public:
    Importer(const std::string& path, const onnx::ModelProto& model) : path_(path), model_(model) {}

    Graph run();

private:
    using Handler = void (Importer::*)();
    static const std::map<std::string, Handler>& handlers();

    // One handler for each operator; they work on node_.
    void convolution();
    void batch_normalization();
    void relu();
    void clip();
    void pool();
    void global_pool();
    void add();
    void affine();
    void gemm();
    void matrix_product();
    void flatten();
    void reshape();
    void softmax();
    void alias();
    void constant();
    void function();

    [[noreturn]] void refuse(const std::string& reason) const;
    std::string node_name() const;
    bool has_input(int index) const;
    const std::string& input_name(int index) const;
    bool is_constant(int index) const;
    const Constant& constant_input(int index) const;
    const std::vector<float>& float_input(int index) const;
    const Reference& variable_input(int index) const;
    const Value& value_of(const Reference& reference) const {
        return graph_.values[reference.value];
    }
    Shape output_shape() const;

    ValueId add_value(const std::string& name, const Shape& shape);
    Node new_node(Operator op) const;
    void finish(Node node, ValueId output);
    void finish_like(const Reference& input, Node node);
    Window read_window(const std::vector<std::int64_t>& kernel, const Value& input);
    void check_window(const Window& window, const Value& input, const Value& output) const;
    void add_affine(const Reference& input, std::vector<float> scale, std::vector<float> offset);
    std::vector<float> per_channel(const Constant& constant, const Reference& other) const;
    void add_fully_connected(std::vector<float> weights, std::vector<float> bias);

    void read_constants();
    void read_inputs();
    void read_shapes();
    void read_outputs();
    void check_softmax() const;

    const std::string path_;
    const onnx::ModelProto& model_;
    const onnx::NodeProto* node_ = nullptr;
    Graph graph_;
    std::unordered_map<std::string, Constant> constants_;
    std::unordered_map<std::string, Reference> references_;
    std::unordered_map<std::string, Shape> shapes_;
};

const std::map<std::string, Importer::Handler>& Importer::handlers() {
    static const std::map<std::string, Handler> table = {
        {"Add", &Importer::add},
        {"AveragePool", &Importer::pool},
        {"BatchNormalization", &Importer::batch_normalization},
        {"Clip", &Importer::clip},
        {"Constant", &Importer::constant},
        {"Conv", &Importer::convolution},
        {"Div", &Importer::affine},
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
        {"MaxPool", &Importer::pool},
        {"Mul", &Importer::affine},
        {"Relu", &Importer::relu},
        {"Reshape", &Importer::reshape},
        {"Sigmoid", &Importer::function},
        {"Softmax", &Importer::softmax},
        {"Squeeze", &Importer::reshape},
        {"Sub", &Importer::affine},
        {"Tanh", &Importer::function},
    };
    return table;
}

void Importer::refuse(const std::string& reason) const {
    throw CompileError(path_, "node '" + node_name() + "' (" + node_->op_type() + "): " + reason);
}

std::string Importer::node_name() const {
    if (!node_->name().empty())
        return node_->name();
    return node_->output_size() > 0 ? node_->output(0) : "";
}

bool Importer::has_input(int index) const {
    return index < node_->input_size() && !node_->input(index).empty();
}

const std::string& Importer::input_name(int index) const {
    if (!has_input(index))
        refuse("input " + std::to_string(index) + " is missing");
    return node_->input(index);
}

bool Importer::is_constant(int index) const {
    return has_input(index) && constants_.contains(node_->input(index));
}

const Constant& Importer::constant_input(int index) const {
    const auto found = constants_.find(input_name(index));
    if (found == constants_.end())
        refuse("input '" + input_name(index) + "' must be a constant");
    return found->second;
}

const std::vector<float>& Importer::float_input(int index) const {
    const Constant& constant = constant_input(index);
    if (constant.floats.size() != element_count(constant.shape))
        refuse("input '" + input_name(index) + "' must be a float32 constant");
    return constant.floats;
}

const Reference& Importer::variable_input(int index) const {
    const auto found = references_.find(input_name(index));
    if (found == references_.end())
        refuse("input '" + input_name(index) + "' is a constant; fold constants before export");
    return found->second;
}

Shape Importer::output_shape() const {
    const auto found = shapes_.find(node_->output(0));
    if (found == shapes_.end())
        refuse("the shape of its output is not known before run time; export static shapes");
    return found->second;
}

// Makes a value of ONNX shape (1, C, H, W) or (1, C).
ValueId Importer::add_value(const std::string& name, const Shape& shape) {
    const std::string place = "tensor '" + name + "' of shape " + to_text(shape);
    if (shape.size() != 2 && shape.size() != 4)
        throw CompileError(path_, place + " is neither (1, C, H, W) nor (1, features)");
    if (shape[0] != 1)
        throw CompileError(path_, place + " has a batch; export the model with batch 1");
    for (std::int64_t size : shape)
        if (size < 1 || size > max_dimension)
            throw CompileError(path_, place + " has a dimension outside 1.." +
                                          std::to_string(max_dimension));
    Value value{name, shape};
    value.channels = static_cast<std::uint32_t>(shape[1]);
    value.height = shape.size() == 4 ? static_cast<std::uint32_t>(shape[2]) : 1;
    value.width = shape.size() == 4 ? static_cast<std::uint32_t>(shape[3]) : 1;
    if (std::uint64_t{value.height} * value.width * (value.channels + 7ull) >= 1ull << 31)
        throw CompileError(path_, place + " is larger than 2 GiB");
    graph_.values.push_back(std::move(value));
    return graph_.values.size() - 1;
}

Node Importer::new_node(Operator op) const {
    Node node;
    node.name = node_name();
    node.onnx_type = node_->op_type();
    node.op = op;
    return node;
}

void Importer::finish(Node node, ValueId output) {
    node.output = output;
    references_[node_->output(0)] = {output, graph_.values[output].shape};
    graph_.nodes.push_back(std::move(node));
}

// For operators whose output has the shape of `input`, flattened or not.
void Importer::finish_like(const Reference& input, Node node) {
    const Shape shape = input.shape;
    node.inputs.insert(node.inputs.begin(), input.value);
    Value value = value_of(input);
    value.name = node_->output(0);
    value.shape = shape;
    graph_.values.push_back(std::move(value));
    finish(std::move(node), graph_.values.size() - 1);
}

Window Importer::read_window(const std::vector<std::int64_t>& kernel, const Value& input) {
    const Attributes attributes(*node_);
    const auto strides = attributes.integers("strides", {1, 1});
    auto pads = attributes.integers("pads", {0, 0, 0, 0});
    const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
    if (kernel.size() != 2 || strides.size() != 2 || pads.size() != 4)
        refuse("only two-dimensional windows are supported");
    if (std::ranges::any_of(kernel, [](auto size) { return size < 1 || size > max_window; }) ||
        std::ranges::any_of(strides, [](auto size) { return size < 1 || size > max_window; }))
        refuse("kernel and strides must lie in 1.." + std::to_string(max_window));
    if (auto_pad == "VALID")
        pads = {0, 0, 0, 0};
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
        const std::int64_t sizes[2] = {input.height, input.width};
        for (int axis = 0; axis < 2; ++axis) {
            const std::int64_t outputs = (sizes[axis] + strides[axis] - 1) / strides[axis];
            const std::int64_t total = std::max<std::int64_t>(
                (outputs - 1) * strides[axis] + kernel[axis] - sizes[axis], 0);
            pads[axis] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        }
    }
    if (std::ranges::any_of(pads, [](auto pad) { return pad < 0; }))
        refuse("negative padding is not supported");
    if (pads[0] >= kernel[0] || pads[1] >= kernel[1])
        refuse("padding as large as the kernel is not supported");
    Window window;
    window.kernel_height = static_cast<std::uint32_t>(kernel[0]);
    window.kernel_width = static_cast<std::uint32_t>(kernel[1]);
    window.stride_height = static_cast<std::uint32_t>(strides[0]);
    window.stride_width = static_cast<std::uint32_t>(strides[1]);
    window.pad_top = static_cast<std::uint32_t>(pads[0]);
    window.pad_left = static_cast<std::uint32_t>(pads[1]);
    return window;
}

// Every window has to overlap the tensor; that bounds the padding below and on the right.
void Importer::check_window(const Window& window, const Value& input, const Value& output) const {
    const std::int64_t last_row =
        (std::int64_t{output.height} - 1) * window.stride_height - window.pad_top;
    const std::int64_t last_column =
        (std::int64_t{output.width} - 1) * window.stride_width - window.pad_left;
    if (last_row >= input.height || last_column >= input.width)
        refuse("a window lies wholly in the padding, which is not supported");
}

void Importer::convolution() {
    const Attributes attributes(*node_);
    const Reference input = variable_input(0);
    const Shape& shape = constant_input(1).shape;
    const std::vector<float>& weights = float_input(1);
    if (input.shape.size() != 4 || shape.size() != 4)
        refuse("only two-dimensional convolutions are supported");
    const auto dilations = attributes.integers("dilations", {1, 1});
    if (dilations.size() != 2 ||
        std::ranges::any_of(dilations, [](auto size) { return size < 1 || size > max_window; }))
        refuse("dilations must lie in 1.." + std::to_string(max_window));
    const std::int64_t group_count = attributes.integer("group", 1);
    const Value& data = value_of(input);
    if (group_count < 1 || data.channels != shape[1] * group_count || shape[0] % group_count != 0)
        refuse("weights of shape " + to_text(shape) + " do not fit " +
               std::to_string(data.channels) + " channels in " + std::to_string(group_count) +
               " groups");

    // The device has no dilation: the kernel is stretched with zeros.
    const std::int64_t rows = (shape[2] - 1) * dilations[0] + 1;
    const std::int64_t columns = (shape[3] - 1) * dilations[1] + 1;
    if (rows * columns * shape[1] > std::int64_t{OVERTAKE_MAX_KERNEL_ELEMENTS})
        refuse("its kernel has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) +
               " elements");
    Node node = new_node(Operator::convolution);
    node.window = read_window({rows, columns}, data);
    node.weights.assign(static_cast<std::size_t>(shape[0] * shape[1] * rows * columns), 0.0f);
    for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane)
        for (std::int64_t y = 0; y < shape[2]; ++y)
            for (std::int64_t x = 0; x < shape[3]; ++x)
                node.weights[(plane * rows + y * dilations[0]) * columns + x * dilations[1]] =
                    weights[(plane * shape[2] + y) * shape[3] + x];
    node.bias.assign(static_cast<std::size_t>(shape[0]), 0.0f);
    if (has_input(2)) {
        node.bias = float_input(2);
        if (node.bias.size() != static_cast<std::size_t>(shape[0]))
            refuse("the bias does not have one element per output channel");
    }
    node.groups = static_cast<std::uint32_t>(group_count);
    if (group_count > 1 && shape[1] == 1 && shape[0] == group_count) {
        node.op = Operator::depthwise;
        node.groups = 1;
    }
    node.inputs = {input.value};
    const ValueId output = add_value(node_->output(0), output_shape());
    check_window(node.window, value_of(input), graph_.values[output]);
    finish(std::move(node), output);
}

// out = in * scale + offset, for each channel.
void Importer::add_affine(const Reference& input, std::vector<float> scale,
                          std::vector<float> offset) {
    Node node = new_node(Operator::depthwise);
    node.weights = std::move(scale);
    node.bias = std::move(offset);
    finish_like(input, std::move(node));
}

void Importer::batch_normalization() {
    const Attributes attributes(*node_);
    const Reference input = variable_input(0);
    if (attributes.integer("training_mode", 0) != 0 || node_->output_size() > 1)
        refuse("is in training mode; export the model for inference");
    const auto &scale = float_input(1), &bias = float_input(2), &mean = float_input(3),
               &variance = float_input(4);
    const std::size_t channels = value_of(input).channels;
    if (input.shape[1] != value_of(input).channels)
        refuse("normalises flattened features; export it before Flatten");
    for (const auto* parameter : {&scale, &bias, &mean, &variance})
        if (parameter->size() != channels)
            refuse("its parameters do not have one element per channel");
    const float epsilon = attributes.real("epsilon", 1e-5f);
    std::vector<float> factor(channels), offset(channels);
    for (std::size_t channel = 0; channel < channels; ++channel) {
        factor[channel] = scale[channel] / std::sqrt(variance[channel] + epsilon);
        offset[channel] = bias[channel] - mean[channel] * factor[channel];
    }
    add_affine(input, std::move(factor), std::move(offset));
}

// Broadcasts a constant beside `other` to one element per channel.
std::vector<float> Importer::per_channel(const Constant& constant, const Reference& other) const {
    const Value& value = value_of(other);
    if (constant.floats.empty())
        refuse("its constant must be float32");
    if (constant.floats.size() == 1)
        return std::vector<float>(value.channels, constant.floats[0]);
    Shape shape = constant.shape;
    while (shape.size() < other.shape.size())
        shape.insert(shape.begin(), 1);
    const bool fits = shape.size() == other.shape.size() && shape[1] == other.shape[1] &&
                      other.shape[1] == value.channels && constant.floats.size() == value.channels;
    if (!fits)
        refuse("a constant of shape " + to_text(constant.shape) + " beside a tensor of shape " +
               to_text(other.shape) + " is not one number per channel, which is all it may be");
    return constant.floats;
}

void Importer::affine() {
    const std::string& type = node_->op_type();
    const bool commutes = type == "Mul";
    const int constant_index = commutes && is_constant(0) ? 0 : 1;
    if (!is_constant(constant_index))
        refuse("is supported with one constant operand only");
    const Reference input = variable_input(1 - constant_index);
    std::vector<float> operand = per_channel(constant_input(constant_index), input);
    std::vector<float> scale(operand.size(), 1.0f), offset(operand.size(), 0.0f);
    for (std::size_t channel = 0; channel < operand.size(); ++channel) {
        if (type == "Mul")
            scale[channel] = operand[channel];
        else if (type == "Div")
            scale[channel] = 1.0f / operand[channel];
        else
            offset[channel] = -operand[channel];
    }
    add_affine(input, std::move(scale), std::move(offset));
}

void Importer::add() {
    if (is_constant(0) || is_constant(1)) {
        const int constant_index = is_constant(0) ? 0 : 1;
        const Reference input = variable_input(1 - constant_index);
        std::vector<float> offset = per_channel(constant_input(constant_index), input);
        std::vector<float> scale(offset.size(), 1.0f);
        add_affine(input, std::move(scale), std::move(offset));
        return;
    }
    const Reference left = variable_input(0), right = variable_input(1);
    const Value &first = value_of(left), &second = value_of(right);
    if (left.shape != right.shape || first.channels != second.channels ||
        first.height != second.height || first.width != second.width)
        refuse("operands of shapes " + to_text(left.shape) + " and " + to_text(right.shape) +
               " differ; broadcasting is not supported");
    Node node = new_node(Operator::add);
    node.inputs = {right.value};
    finish_like(left, std::move(node));
}

void Importer::relu() {
    const Reference input = variable_input(0);
    Node node = new_node(Operator::activation);
    node.clamp_low = 0.0f;
    finish_like(input, std::move(node));
}

void Importer::clip() {
    const Reference input = variable_input(0);
    Node node = new_node(Operator::activation);
    if (has_input(1) && float_input(1).size() == 1)
        node.clamp_low = float_input(1)[0];
    if (has_input(2) && float_input(2).size() == 1)
        node.clamp_high = float_input(2)[0];
    if (!(node.clamp_low <= node.clamp_high))
        refuse("its minimum is not below its maximum");
    finish_like(input, std::move(node));
}

void Importer::function() {
    const Reference input = variable_input(0);
    const Attributes attributes(*node_);
    const std::string& type = node_->op_type();
    Node node = new_node(Operator::activation);
    if (type == "Sigmoid") {
        node.function = [](float x) { return 1.0f / (1.0f + std::exp(-x)); };
    } else if (type == "Tanh") {
        node.function = [](float x) { return std::tanh(x); };
    } else if (type == "HardSwish") {
        node.function = [](float x) { return x * std::clamp(x / 6.0f + 0.5f, 0.0f, 1.0f); };
    } else if (type == "HardSigmoid") {
        const float alpha = attributes.real("alpha", 0.2f), beta = attributes.real("beta", 0.5f);
        node.function = [=](float x) { return std::clamp(alpha * x + beta, 0.0f, 1.0f); };
    } else if (type == "Elu") {
        const float alpha = attributes.real("alpha", 1.0f);
        node.function = [=](float x) { return x < 0 ? alpha * std::expm1(x) : x; };
    } else {
        const float alpha = attributes.real("alpha", 0.01f); // LeakyRelu
        node.function = [=](float x) { return x < 0 ? alpha * x : x; };
    }
    finish_like(input, std::move(node));
}

void Importer::pool() {
    const Attributes attributes(*node_);
    const Reference input = variable_input(0);
    if (input.shape.size() != 4)
        refuse("only two-dimensional pools are supported");
    if (node_->output_size() > 1 && !node_->output(1).empty())
        refuse("the indices of its maxima are not supported");
    for (std::int64_t dilation : attributes.integers("dilations", {1, 1}))
        if (dilation != 1)
            refuse("dilation is not supported");
    const bool is_average = node_->op_type() == "AveragePool";
    Node node = new_node(is_average ? Operator::average_pool : Operator::max_pool);
    node.window = read_window(attributes.integers("kernel_shape", {}), value_of(input));
    node.count_include_pad = is_average && attributes.integer("count_include_pad", 0) != 0;
    if (node.count_include_pad && attributes.integer("ceil_mode", 0) != 0)
        refuse("ceil_mode together with count_include_pad is not supported");
    node.inputs = {input.value};
    const ValueId output = add_value(node_->output(0), output_shape());
    check_window(node.window, value_of(input), graph_.values[output]);
    finish(std::move(node), output);
}

void Importer::global_pool() {
    const Reference input = variable_input(0);
    const Value& data = value_of(input);
    if (input.shape.size() != 4 || data.height > max_window || data.width > max_window)
        refuse("only two-dimensional pools of at most 65535 rows and columns are supported");
    Node node =
        new_node(node_->op_type() == "GlobalMaxPool" ? Operator::max_pool : Operator::average_pool);
    node.window.kernel_height = data.height;
    node.window.kernel_width = data.width;
    node.inputs = {input.value};
    finish(std::move(node), add_value(node_->output(0), {1, input.shape[1], 1, 1}));
}

// `weights` are (outputs, features): a convolution whose kernel covers its whole input, so
// flattened features need no data movement and keep ONNX's order of weights.
void Importer::add_fully_connected(std::vector<float> weights, std::vector<float> bias) {
    const Reference input = variable_input(0);
    const Value& data = value_of(input);
    if (data.elements() > OVERTAKE_MAX_KERNEL_ELEMENTS || data.height > max_window ||
        data.width > max_window)
        refuse("has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) + " features");
    Node node = new_node(Operator::convolution);
    node.window.kernel_height = data.height;
    node.window.kernel_width = data.width;
    node.weights = std::move(weights);
    node.bias = std::move(bias);
    node.inputs = {input.value};
    const auto outputs = static_cast<std::int64_t>(node.bias.size());
    finish(std::move(node), add_value(node_->output(0), {1, outputs}));
}

void Importer::gemm() {
    const Attributes attributes(*node_);
    const Reference input = variable_input(0);
    const Shape& shape = constant_input(1).shape;
    const std::vector<float>& matrix = float_input(1);
    if (attributes.integer("transA", 0) != 0 || input.shape.size() != 2 || shape.size() != 2)
        refuse("only (1, features) times a constant matrix is supported");
    const bool transposed = attributes.integer("transB", 0) != 0;
    const std::int64_t features = transposed ? shape[1] : shape[0];
    const std::int64_t outputs = transposed ? shape[0] : shape[1];
    if (features != input.shape[1])
        refuse("a matrix of shape " + to_text(shape) + " does not fit " + to_text(input.shape));
    const float alpha = attributes.real("alpha", 1.0f), beta = attributes.real("beta", 1.0f);
    std::vector<float> weights(matrix.size());
    for (std::int64_t output = 0; output < outputs; ++output)
        for (std::int64_t feature = 0; feature < features; ++feature)
            weights[output * features + feature] =
                alpha *
                matrix[transposed ? output * features + feature : feature * outputs + output];
    std::vector<float> bias(static_cast<std::size_t>(outputs), 0.0f);
    if (has_input(2)) {
        const std::vector<float>& addend = float_input(2);
        if (addend.size() != 1 && addend.size() != bias.size())
            refuse("the addend must have one element per output");
        for (std::size_t output = 0; output < bias.size(); ++output)
            bias[output] = beta * addend[addend.size() == 1 ? 0 : output];
    }
    add_fully_connected(std::move(weights), std::move(bias));
}

void Importer::matrix_product() {
    const Reference input = variable_input(0);
    const Shape& shape = constant_input(1).shape;
    const std::vector<float>& matrix = float_input(1);
    if (input.shape.size() != 2 || shape.size() != 2 || shape[0] != input.shape[1])
        refuse("only (1, features) times a constant (features, outputs) is supported");
    std::vector<float> weights(matrix.size());
    for (std::int64_t output = 0; output < shape[1]; ++output)
        for (std::int64_t feature = 0; feature < shape[0]; ++feature)
            weights[output * shape[0] + feature] = matrix[feature * shape[1] + output];
    add_fully_connected(std::move(weights),
                        std::vector<float>(static_cast<std::size_t>(shape[1]), 0.0f));
}

void Importer::flatten() {
    const Reference input = variable_input(0);
    const Shape shape = output_shape();
    if (shape.size() != 2 || shape[0] != 1)
        refuse("gives shape " + to_text(shape) + "; only (1, features) is supported");
    references_[node_->output(0)] = {input.value, shape};
}

void Importer::reshape() {
    const Reference input = variable_input(0);
    const Shape shape = output_shape();
    const Value& data = value_of(input);
    const bool flattens = shape.size() == 2 && shape[0] == 1;
    const bool keeps = shape.size() == 4 && shape[0] == 1 && shape[1] == data.channels &&
                       shape[2] == data.height && shape[3] == data.width;
    if (!flattens && !keeps)
        refuse("from " + to_text(input.shape) + " to " + to_text(shape) +
               " moves data; only reshaping to (1, features) is supported");
    references_[node_->output(0)] = {input.value, shape};
}

void Importer::softmax() {
    const Reference input = variable_input(0);
    Node node = new_node(Operator::softmax);
    std::int64_t axis = Attributes(*node_).integer("axis", -1);
    const auto rank = static_cast<std::int64_t>(input.shape.size());
    axis += axis < 0 ? rank : 0;
    if (axis < 1 || axis >= rank)
        refuse("its axis lies outside the tensor");
    if (rank == 2 && input.shape[1] != value_of(input).channels)
        refuse("over flattened features is not supported");
    node.axis = static_cast<int>(axis);
    finish_like(input, std::move(node));
}

void Importer::alias() {
    if (node_->output_size() > 1 && !node_->output(1).empty())
        refuse("its second output is not supported");
    if (is_constant(0))
        constants_[node_->output(0)] = constant_input(0);
    else
        references_[node_->output(0)] = Reference(variable_input(0));
}

void Importer::constant() {
    const onnx::TensorProto* tensor = Attributes(*node_).tensor("value");
    if (!tensor)
        refuse("is supported with the attribute 'value' only");
    constants_[node_->output(0)] = read_constant(*tensor, path_);
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
    check_softmax();
    return std::move(graph_);
}

} // namespace

Graph import_onnx(const std::string& path) {
    const onnx::ModelProto model = load_onnx(path);
    return Importer(path, model).run();
}

} // namespace overtake::compiler
