// SPDX-License-Identifier: MIT
//
// BatchNormalization, Add, Sub, Mul, Div, Max, Min, Sum, Mean, Pow, PRelu.
#include "compiler/import/importer.hpp"

#include <algorithm>
#include <cmath>

#include "compiler/ir/layout.hpp"
#include "compiler/passes/fuse_elementwise.hpp"

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

// A constant beside `other` as one element per channel, or nothing where it is no such thing.
std::optional<std::vector<float>> Importer::per_channel(const Constant& constant,
                                                        const Reference& other) const {
    const Value& value = value_of(other);
    if (value.channels == 0)
        return std::nullopt;
    if (constant.floats.size() == 1 && constant.shape.size() <= other.shape.size())
        return std::vector<float>(value.channels, constant.floats[0]);
    Shape shape = constant.shape;
    while (shape.size() < other.shape.size())
        shape.insert(shape.begin(), 1);
    const std::size_t axis = value.order == Order::rows ? other.shape.size() - 1 : 1;
    const bool fits = shape.size() == other.shape.size() && axis < shape.size() &&
                      shape[axis] == other.shape[axis] && other.shape[axis] == value.channels &&
                      constant.floats.size() == value.channels;
    return fits ? std::optional(constant.floats) : std::nullopt;
}

// A constant operand of an operator whose output has `shape`: bytes among the weights.
ValueId Importer::device_constant(const Constant& constant, const Shape& shape, Order order) {
    if (constant.floats.size() != element_count(constant.shape))
        refuse("its constant must be float32");
    Shape from = constant.shape;
    while (from.size() < shape.size())
        from.insert(from.begin(), 1);
    // What broadcasts along a part of a device dimension has to be written out.
    Shape to = from;
    for (const auto& axes : axes_of_dimensions(laid_out("", shape, order)))
        if (std::ranges::any_of(axes, [&](std::size_t axis) { return from[axis] != 1; }))
            for (std::size_t axis : axes)
                to[axis] = shape[axis];
    Value value = laid_out(node_name() + ":constant" + std::to_string(parts_++), to, order);
    value.constant.resize(value.elements());
    for (std::size_t index = 0; index < value.constant.size(); ++index) {
        std::size_t rest = index, source = 0, step = 1;
        for (std::size_t axis = to.size(); axis-- > 0;) {
            const std::size_t position = rest % static_cast<std::size_t>(to[axis]);
            rest /= static_cast<std::size_t>(to[axis]);
            source += (from[axis] == 1 ? 0 : position) * step;
            step *= static_cast<std::size_t>(from[axis]);
        }
        value.constant[index] = constant.floats[source];
        if (!std::isfinite(value.constant[index]))
            refuse("its constant is not finite");
    }
    graph_.values.push_back(std::move(value));
    return graph_.values.size() - 1;
}

// Of one shape and order in memory, flattened or not.
bool Importer::lie_alike(const Reference& left, const Reference& right) const {
    const Value &first = value_of(left), &second = value_of(right);
    return left.shape == right.shape && first.order == second.order && first.fits_device() &&
           first.channels == second.channels && first.height == second.height &&
           first.width == second.width;
}

// Each dimension of an operand is the output's or 1.
void Importer::check_broadcast(ValueId input, ValueId output) const {
    const Value &in = graph_.values[input], &out = graph_.values[output];
    if ((in.channels != 1 && in.channels != out.channels) ||
        (in.height != 1 && in.height != out.height) || (in.width != 1 && in.width != out.width))
        refuse("shapes " + to_text(in.shape) + " and " + to_text(out.shape) +
               " do not fit each other on the device");
}

// Two operands, at least one of them computed.
Reference Importer::add_pair(Operator op, const Operand& left, const Operand& right,
                             const std::string& name) {
    const Operand* const operands[2] = {&left, &right};
    const auto shape_of = [](const Operand& operand) {
        return operand.constant ? operand.constant->shape : operand.reference.shape;
    };
    const Shape shape = broadcast_shape(shape_of(left), shape_of(right));
    Node node = new_node(op);
    if (!left.constant && !right.constant && lie_alike(left.reference, right.reference)) {
        node.inputs = {left.reference.value, right.reference.value};
        Value value = value_of(left.reference);
        value.name = name;
        value.given.reset();
        graph_.values.push_back(std::move(value));
        node.output = graph_.values.size() - 1;
    } else {
        const bool left_leads = !left.constant && (right.constant || shape_of(left) == shape);
        const Order order = value_of(left_leads ? left.reference : right.reference).order;
        for (const Operand* operand : operands) {
            Reference reference = operand->reference;
            while (reference.shape.size() < shape.size())
                reference.shape.insert(reference.shape.begin(), 1);
            node.inputs.push_back(operand->constant
                                      ? device_constant(*operand->constant, shape, order)
                                      : in_order(reference, order));
        }
        node.output = add_value(name, shape, order);
        for (ValueId input : node.inputs)
            check_broadcast(input, node.output);
    }
    graph_.nodes.push_back(std::move(node));
    return {graph_.nodes.back().output, shape};
}

Importer::Operand Importer::operand(int index) const {
    if (is_constant(index))
        return {{}, &constant_input(index)};
    return {variable_input(index), nullptr};
}

// All inputs, from the first to the last.
Reference Importer::add_chain(Operator op, const std::string& name) {
    Operand sum = operand(0);
    if (sum.constant && node_->input_size() == 1)
        refuse("is a constant");
    for (int index = 1; index < node_->input_size(); ++index) {
        const bool is_last = index + 1 == node_->input_size();
        const Operand next = operand(index);
        if (sum.constant && next.constant)
            refuse("begins with two constants; fold them before export");
        sum = {add_pair(op, sum, next, is_last ? name : name + ":" + std::to_string(index)),
               nullptr};
    }
    return sum.reference;
}

void Importer::add_function(const Reference& input, std::function<float(float)> function) {
    Node node = new_node(Operator::activation);
    node.function = std::move(function);
    finish_like(input, std::move(node));
}

// 8 bits are too few for the inverse of a tensor, but x / (1 + exp(-x)) becomes one function.
void Importer::quotient() {
    const Reference left = variable_input(0), right = variable_input(1);
    if (!lie_alike(left, right) ||
        element_root(graph_, left.value) != element_root(graph_, right.value))
        refuse("is supported with a constant, or of two functions of one tensor");
    const std::string name = node_->output(0);
    add_function(right, [](float x) { return 1 / x; });
    const Reference inverse = references_.at(name);
    graph_.values[inverse.value].name = name + ":inverse";
    references_[name] = add_pair(Operator::multiply, {left, nullptr}, {inverse, nullptr}, name);
}

// Sub, Mul, Div and Add; with a constant per channel a scale and an offset.
void Importer::arithmetic() {
    const std::string& type = node_->op_type();
    const Operator op = type == "Add"   ? Operator::add
                        : type == "Sub" ? Operator::subtract
                                        : Operator::multiply;
    if (!is_constant(0) && !is_constant(1)) {
        if (type == "Div")
            return quotient();
        references_[node_->output(0)] = add_pair(op, operand(0), operand(1), node_->output(0));
        return;
    }
    const int constant_index = is_constant(0) ? 0 : 1;
    const Reference input = variable_input(1 - constant_index);
    const Constant& constant = constant_input(constant_index);
    if (const auto numbers = per_channel(constant, input)) {
        const bool is_quotient = type == "Div" && constant_index == 0;
        if (is_quotient && constant.floats.size() != 1)
            refuse("divides constants that differ");
        if (is_quotient)
            return add_function(input,
                                [dividend = constant.floats[0]](float x) { return dividend / x; });
        return add_scaling(input, *numbers, constant_index);
    }
    if (type != "Div") {
        references_[node_->output(0)] = add_pair(op, operand(0), operand(1), node_->output(0));
        return;
    }
    if (constant_index == 0)
        refuse("divides constants that differ");
    Constant inverse = constant;
    for (float& number : inverse.floats)
        number = 1.0f / number;
    references_[node_->output(0)] =
        add_pair(op, {input, nullptr}, {{}, &inverse}, node_->output(0));
}

// One number per channel, being the first or the second operand.
void Importer::add_scaling(const Reference& input, const std::vector<float>& operand,
                           int constant_index) {
    const std::string& type = node_->op_type();
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
        if (!std::isfinite(scale[channel]) || !std::isfinite(offset[channel]))
            refuse("its constant is not finite, or divides by zero");
    }
    add_affine(input, std::move(scale), std::move(offset));
}

// Max and Min; of a tensor and a number they are a clamp.
void Importer::extreme() {
    const bool is_max = node_->op_type() == "Max";
    if (node_->input_size() == 1)
        return alias();
    if (node_->input_size() == 2 && (is_constant(0) || is_constant(1))) {
        const int index = is_constant(0) ? 0 : 1;
        const Reference input = variable_input(1 - index);
        const std::vector<float>& bound = float_input(index);
        if (bound.size() == 1 && constant_input(index).shape.size() <= input.shape.size()) {
            Node node = new_node(Operator::activation);
            (is_max ? node.clamp_low : node.clamp_high) = bound[0];
            return finish_like(input, std::move(node));
        }
    }
    references_[node_->output(0)] =
        add_chain(is_max ? Operator::maximum : Operator::minimum, node_->output(0));
}

void Importer::sum() {
    if (node_->input_size() == 1)
        return alias();
    const bool is_mean = node_->op_type() == "Mean";
    const std::string& name = node_->output(0);
    const Reference total = add_chain(Operator::add, is_mean ? name + ":sum" : name);
    references_[name] = total;
    const float part = 1.0f / static_cast<float>(node_->input_size());
    const std::size_t channels = value_of(total).channels;
    if (is_mean)
        add_affine(total, std::vector<float>(channels, part), std::vector<float>(channels, 0.0f));
}

// With one number, a function of the other operand.
void Importer::power() {
    if (!is_constant(0) && !is_constant(1))
        refuse("is supported with a constant only");
    const int index = is_constant(0) ? 0 : 1;
    const std::vector<float> numbers = reals_of(constant_input(index));
    const Reference input = variable_input(1 - index);
    if (numbers.size() != 1 || constant_input(index).shape.size() > input.shape.size())
        refuse("is supported with one number only");
    if (index == 0)
        return add_function(input, [base = numbers[0]](float x) { return std::pow(base, x); });
    add_function(input, [exponent = numbers[0]](float x) { return std::pow(x, exponent); });
}

// x or slope * x, whichever is greater, if no slope exceeds 1, and the lesser if none is below.
void Importer::parametric_relu() {
    const Reference input = variable_input(0);
    const auto slopes = per_channel(constant_input(1), input);
    if (!slopes)
        refuse("is supported with a slope per channel only");
    const auto [least, greatest] = std::ranges::minmax(*slopes);
    if (least == greatest)
        return add_function(input, [slope = least](float x) { return x < 0 ? x * slope : x; });
    if (greatest > 1 && least < 1)
        refuse("has slopes above and below 1");
    const std::string name = node_->output(0);
    add_affine(input, *slopes, std::vector<float>(slopes->size(), 0.0f));
    const Reference scaled = references_.at(name);
    graph_.values[scaled.value].name = name + ":scaled";
    references_[name] = add_pair(greatest > 1 ? Operator::minimum : Operator::maximum,
                                 {input, nullptr}, {scaled, nullptr}, name);
}

} // namespace overtake::compiler
