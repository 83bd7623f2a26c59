// SPDX-License-Identifier: MIT
//
// BatchNormalization, Add, Sub, Mul, Div, Max, Min.
#include "importer.hpp"

#include <cmath>

namespace overtake::compiler {

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
    const bool is_planes = value_of(input).order == Order::planes || input.shape.size() == 2;
    if (input.shape.size() < 2 || !is_planes || input.shape[1] != value_of(input).channels)
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
    const std::size_t axis = value.order == Order::rows ? other.shape.size() - 1 : 1;
    const bool fits = shape.size() == other.shape.size() && axis < shape.size() &&
                      shape[axis] == other.shape[axis] && other.shape[axis] == value.channels &&
                      constant.floats.size() == value.channels;
    if (!fits)
        refuse("a constant of shape " + to_text(constant.shape) + " beside a tensor of shape " +
               to_text(other.shape) + " is not one number per channel, which is all it may be");
    return constant.floats;
}

// Both operands computed: each dimension of one is the output's or 1.
void Importer::add_binary(Operator op) {
    Reference operands[2] = {variable_input(0), variable_input(1)};
    const Shape shape = broadcast_shape(operands[0].shape, operands[1].shape);
    const Value first = value_of(operands[0]), second = value_of(operands[1]);
    const bool is_alike = operands[0].shape == operands[1].shape && first.order == second.order &&
                          first.fits_device() && first.channels == second.channels &&
                          first.height == second.height && first.width == second.width;
    Node node = new_node(op);
    if (is_alike) { // flattened or not
        node.inputs = {operands[1].value};
        finish_like(operands[0], std::move(node));
        return;
    }
    const Order order = operands[0].shape == shape ? first.order : second.order;
    for (Reference& operand : operands) {
        while (operand.shape.size() < shape.size())
            operand.shape.insert(operand.shape.begin(), 1);
        node.inputs.push_back(in_order(operand, order));
    }
    const ValueId output = add_value(node_->output(0), shape, order);
    const Value& out = graph_.values[output];
    for (ValueId input : node.inputs) {
        const Value& in = graph_.values[input];
        if ((in.channels != 1 && in.channels != out.channels) ||
            (in.height != 1 && in.height != out.height) || (in.width != 1 && in.width != out.width))
            refuse("operands of shapes " + to_text(operands[0].shape) + " and " +
                   to_text(operands[1].shape) + " do not fit each other on the device");
    }
    finish(std::move(node), output);
}

// Sub, Mul, Div and Add; with a constant a scale and an offset for each channel.
void Importer::arithmetic() {
    const std::string& type = node_->op_type();
    if (!is_constant(0) && !is_constant(1)) {
        if (type == "Div")
            refuse("is supported with a constant divisor only");
        add_binary(type == "Add"   ? Operator::add
                   : type == "Sub" ? Operator::subtract
                                   : Operator::multiply);
        return;
    }
    const int constant_index = is_constant(0) ? 0 : 1;
    if (type == "Div" && constant_index == 0)
        refuse("is supported with a constant divisor only");
    const Reference input = variable_input(1 - constant_index);
    if (broadcast_shape(input.shape, constant_input(constant_index).shape) != input.shape)
        refuse("a constant of shape " + to_text(constant_input(constant_index).shape) +
               " makes a tensor of shape " + to_text(input.shape) + " larger");
    const std::vector<float> operand = per_channel(constant_input(constant_index), input);
    std::vector<float> scale(operand.size(), 1.0f), offset(operand.size(), 0.0f);
    for (std::size_t channel = 0; channel < operand.size(); ++channel) {
        if (type == "Mul")
            scale[channel] = operand[channel];
        else if (type == "Div")
            scale[channel] = 1.0f / operand[channel];
        else if (type == "Add")
            offset[channel] = operand[channel];
        else if (constant_index == 1)
            offset[channel] = -operand[channel];
        else
            scale[channel] = -1.0f, offset[channel] = operand[channel];
    }
    add_affine(input, std::move(scale), std::move(offset));
}

// Max and Min of two tensors.
void Importer::extreme() {
    if (node_->input_size() == 1)
        return alias();
    if (node_->input_size() != 2)
        refuse("is supported with two operands only");
    add_binary(node_->op_type() == "Max" ? Operator::maximum : Operator::minimum);
}

} // namespace overtake::compiler
