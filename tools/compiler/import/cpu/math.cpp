// SPDX-License-Identifier: MIT
//
// Operators on the CPU that sum, select and normalise.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "compiler/import/importer.hpp"

namespace overtake::compiler {

using cpu::Binary;
using cpu::Reduction;

void Importer::cpu_softmax() {
    const Reference input = cpu_input(0);
    const std::size_t axis = axis_of(Attributes(*node_).integer("axis", -1), input.shape.size());
    const bool is_log = node_->op_type() == "LogSoftmax";
    finish_cpu(cpu_node({is_log ? CpuOpType::log_softmax : CpuOpType::softmax,
                         {static_cast<std::int64_t>(axis)},
                         {}},
                        {input}, input.shape));
}

void Importer::cpu_layer_normalization() {
    const Attributes attributes(*node_);
    const Reference input = cpu_input(0);
    const std::size_t axis = axis_of(attributes.integer("axis", -1), input.shape.size());
    if (node_->output_size() > 1)
        refuse("its second output is not supported");
    std::vector<Reference> inputs = {input};
    const Shape normalised(input.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                           input.shape.end());
    for (int index = 1; index < 3 && has_input(index); ++index) {
        inputs.push_back(cpu_input(index));
        if (element_count(inputs.back().shape) != element_count(normalised))
            refuse("scale and bias must have one element for each that is normalised");
    }
    finish_cpu(cpu_node({CpuOpType::normalize,
                         {static_cast<std::int64_t>(axis)},
                         {attributes.real("epsilon", 1e-5f)}},
                        inputs, input.shape));
}

void Importer::cpu_instance_normalization() {
    const Reference input = cpu_input(0);
    if (input.shape.size() < 3)
        refuse("needs channels and at least one axis behind them");
    Reference result =
        cpu_node({CpuOpType::normalize, {2}, {Attributes(*node_).real("epsilon", 1e-5f)}}, {input},
                 input.shape);
    Shape per_channel(input.shape.size() - 1, 1);
    per_channel[0] = input.shape[1];
    for (int index = 1; index < 3; ++index) {
        Reference parameter = cpu_input(index);
        if (element_count(parameter.shape) != static_cast<std::size_t>(input.shape[1]))
            refuse("its parameters do not have one element per channel");
        parameter.shape = per_channel;
        const Binary function = index == 1 ? Binary::multiply : Binary::add;
        result = cpu_node({CpuOpType::binary, {static_cast<std::int64_t>(function)}, {}},
                          {result, parameter}, input.shape);
    }
    finish_cpu(result);
}

// The axes that a reduction names, ascending; all if none are named.
std::vector<std::int64_t> Importer::reduced_axes(std::size_t rank) const {
    auto axes = Attributes(*node_).integers("axes", {});
    if (has_input(1))
        axes = integers_of(constant_input(1));
    if (axes.empty() && Attributes(*node_).integer("noop_with_empty_axes", 0) == 0) {
        axes.resize(rank);
        std::iota(axes.begin(), axes.end(), 0);
    }
    for (std::int64_t& axis : axes)
        axis = static_cast<std::int64_t>(axis_of(axis, rank));
    std::ranges::sort(axes);
    return axes;
}

Shape Importer::reduced_shape(const Shape& shape, const std::vector<std::int64_t>& axes) const {
    const bool keeps = Attributes(*node_).integer("keepdims", 1) != 0;
    Shape result;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (std::ranges::find(axes, static_cast<std::int64_t>(axis)) == axes.end())
            result.push_back(shape[axis]);
        else if (keeps)
            result.push_back(1);
    return result;
}

void Importer::cpu_reduce() {
    static const std::map<std::string, Reduction> functions = {
        {"ReduceL1", Reduction::l1},          {"ReduceL2", Reduction::l2},
        {"ReduceLogSum", Reduction::log_sum}, {"ReduceLogSumExp", Reduction::log_sum_exp},
        {"ReduceMax", Reduction::maximum},    {"ReduceMean", Reduction::mean},
        {"ReduceMin", Reduction::minimum},    {"ReduceProd", Reduction::product},
        {"ReduceSum", Reduction::sum},        {"ReduceSumSquare", Reduction::sum_of_squares},
    };
    const Reference input = cpu_input(0);
    std::vector<std::int64_t> integers = reduced_axes(input.shape.size());
    const Shape shape = reduced_shape(input.shape, integers);
    integers.insert(integers.begin(), static_cast<std::int64_t>(functions.at(node_->op_type())));
    const Reference result = cpu_node({CpuOpType::reduce, integers, {}}, {input}, shape);
    finish_cpu(input.integer ? cpu_truncated(result) : result);
}

void Importer::cpu_global_pool() {
    const Reference input = cpu_input(0);
    if (input.shape.size() < 3)
        refuse("needs channels and at least one axis behind them");
    const bool is_max = node_->op_type() == "GlobalMaxPool";
    std::vector<std::int64_t> integers = {
        static_cast<std::int64_t>(is_max ? Reduction::maximum : Reduction::mean)};
    Shape shape = input.shape;
    for (std::size_t axis = 2; axis < shape.size(); ++axis) {
        integers.push_back(static_cast<std::int64_t>(axis));
        shape[axis] = 1;
    }
    finish_cpu(cpu_node({CpuOpType::reduce, integers, {}}, {input}, shape));
}

void Importer::cpu_arg_reduce() {
    const Attributes attributes(*node_);
    const Reference input = cpu_input(0);
    const auto axis =
        static_cast<std::int64_t>(axis_of(attributes.integer("axis", 0), input.shape.size()));
    const bool last = attributes.integer("select_last_index", 0) != 0;
    Reduction function = last ? Reduction::last_greatest : Reduction::first_greatest;
    if (node_->op_type() == "ArgMin")
        function = last ? Reduction::last_least : Reduction::first_least;
    Reference result =
        cpu_node({CpuOpType::reduce, {static_cast<std::int64_t>(function), axis}, {}}, {input},
                 reduced_shape(input.shape, {axis}));
    result.integer = true;
    finish_cpu(result);
}

void Importer::cpu_top_k() {
    const Attributes attributes(*node_);
    const Reference input = cpu_input(0);
    const std::size_t axis = axis_of(attributes.integer("axis", -1), input.shape.size());
    const auto count = integers_of(constant_input(1));
    Shape shape = input.shape;
    if (count.size() != 1 || count[0] < 1 || count[0] > shape[axis])
        refuse("its number of elements lies outside the axis");
    shape[axis] = count[0];
    for (int output = 0; output < node_->output_size(); ++output) {
        if (node_->output(output).empty())
            continue;
        Reference result =
            cpu_node({CpuOpType::top_k,
                      {static_cast<std::int64_t>(axis), attributes.integer("largest", 1), output},
                      {}},
                     {input}, shape);
        result.integer = output == 1 || input.integer;
        finish_cpu(result, output);
    }
}

// The number of boxes is not known before run time: there are rows for all that may be, -1 in those
// that are not used.
void Importer::cpu_non_max_suppression() {
    const Reference boxes = cpu_input(0), scores = cpu_input(1);
    if (boxes.shape.size() != 3 || scores.shape.size() != 3)
        refuse("needs boxes and scores of three dimensions");
    const auto number = [&](int index, float otherwise) {
        if (!has_input(index))
            return otherwise;
        const std::vector<float> values = reals_of(constant_input(index));
        if (values.size() != 1)
            refuse("its limits must be single numbers");
        return values[0];
    };
    const auto limit = has_input(2) ? integers_of(constant_input(2)) : Shape{0};
    if (limit.size() != 1)
        refuse("its limits must be single numbers");
    const std::int64_t most = std::min(limit[0], boxes.shape[1]);
    if (most < 1)
        refuse("keeps no boxes; max_output_boxes_per_class is not given");
    Reference result =
        cpu_node({CpuOpType::non_max_suppression,
                  {Attributes(*node_).integer("center_point_box", 0), most},
                  {number(3, 0.0f), number(4, -std::numeric_limits<float>::infinity())}},
                 {boxes, scores}, {scores.shape[0] * scores.shape[1] * most, 3});
    result.integer = true;
    finish_cpu(result);
}

Reference Importer::cpu_product(Reference left, Reference right) {
    const bool is_row = left.shape.size() == 1, is_column = right.shape.size() == 1;
    if (left.shape.empty() || right.shape.empty())
        refuse("needs matrices");
    if (is_row)
        left.shape.insert(left.shape.begin(), 1);
    if (is_column)
        right.shape.push_back(1);
    if (left.shape.back() != right.shape[right.shape.size() - 2])
        refuse("matrices of shapes " + to_text(left.shape) + " and " + to_text(right.shape) +
               " do not fit each other");
    Shape shape = broadcast_shape(Shape(left.shape.begin(), left.shape.end() - 2),
                                  Shape(right.shape.begin(), right.shape.end() - 2));
    shape.push_back(left.shape[left.shape.size() - 2]);
    shape.push_back(right.shape.back());
    Reference result = cpu_node({CpuOpType::matrix_product, {}, {}}, {left, right}, shape);
    result.integer = left.integer && right.integer;
    if (is_column)
        result.shape.pop_back();
    if (is_row)
        result.shape.erase(result.shape.end() - (is_column ? 1 : 2));
    return result;
}

// Weights that are NaN or infinite are a broken model's.
void Importer::check_weights(int index) const {
    const auto is_finite = [](float number) { return std::isfinite(number); };
    if (is_constant(index) && !std::ranges::all_of(constant_input(index).floats, is_finite))
        refuse("input '" + input_name(index) + "' holds NaN or infinity; export the model again");
}

void Importer::cpu_matrix_product() {
    check_weights(0);
    check_weights(1);
    finish_cpu(cpu_product(cpu_input(0), cpu_input(1)));
}

void Importer::cpu_gemm() {
    for (int index : {0, 1, 2})
        check_weights(index);
    const Attributes attributes(*node_);
    Reference operands[2] = {cpu_input(0), cpu_input(1)};
    const char* const names[2] = {"transA", "transB"};
    for (int index = 0; index < 2; ++index) {
        Reference& operand = operands[index];
        if (operand.shape.size() != 2)
            refuse("needs matrices");
        const Shape shape = {operand.shape[1], operand.shape[0]};
        if (attributes.integer(names[index], 0) != 0)
            operand = cpu_view(operand, 0, {1, operand.shape[1]}, shape);
    }
    Reference result = cpu_product(operands[0], operands[1]);
    const auto scaled = [&](const Reference& reference, const char* name) {
        const float factor = attributes.real(name, 1.0f);
        if (factor == 1.0f)
            return reference;
        return cpu_node({CpuOpType::binary, {static_cast<std::int64_t>(Binary::multiply)}, {}},
                        {reference, cpu_constant({}, {factor})}, reference.shape);
    };
    result = scaled(result, "alpha");
    if (has_input(2))
        result = cpu_node({CpuOpType::binary, {static_cast<std::int64_t>(Binary::add)}, {}},
                          {result, scaled(cpu_input(2), "beta")}, result.shape);
    finish_cpu(result);
}

// Padding in front of each axis of a window, whatever way the node gives it.  `sizes` are what the
// windows look at, `counts` how many windows there are.
std::vector<std::int64_t> Importer::padding_of(const std::vector<std::int64_t>& extents,
                                               const std::vector<std::int64_t>& strides,
                                               const Shape& sizes, const Shape& counts,
                                               bool is_given) const {
    const Attributes attributes(*node_);
    const std::size_t axes = extents.size();
    const auto pads = attributes.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
    const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
    const auto extra = attributes.integers("output_padding", std::vector<std::int64_t>(axes, 0));
    std::vector<std::int64_t> result(axes);
    if (pads.size() != 2 * axes || strides.size() != axes || extra.size() != axes)
        refuse("its pads or strides do not fit the input");
    check_between(pads, -max_dimension, max_dimension, "pads");
    check_between(extra, 0, max_dimension, "output_padding");
    for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::int64_t total = std::max<std::int64_t>(
            (counts[axis] - 1) * strides[axis] + extra[axis] + extents[axis] - sizes[axis], 0);
        if (auto_pad == "SAME_UPPER")
            result[axis] = total / 2;
        else if (auto_pad == "SAME_LOWER" || (auto_pad == "NOTSET" && !is_given))
            result[axis] = total - total / 2;
        else if (auto_pad == "NOTSET")
            result[axis] = pads[axis];
    }
    return result;
}

void Importer::cpu_convolution() {
    for (int index : {1, 2})
        check_weights(index);
    const Attributes attributes(*node_);
    const Reference input = cpu_input(0), weights = cpu_input(1);
    const bool transposed = node_->op_type() == "ConvTranspose";
    const Shape shape = output_shape();
    if (input.shape.size() < 3 || weights.shape.size() != input.shape.size() ||
        shape.size() != input.shape.size())
        refuse("input and weights do not fit each other");
    const std::size_t axes = input.shape.size() - 2;
    const std::vector<std::int64_t> ones(axes, 1);
    const auto strides = attributes.integers("strides", ones);
    const auto dilations = attributes.integers("dilations", ones);
    if (strides.size() != axes || dilations.size() != axes)
        refuse("its strides or dilations do not fit the input");
    check_between(strides, 1, max_dimension, "strides");
    check_between(dilations, 1, max_dimension, "dilations");
    const auto spatial = [](const Shape& whole) { return Shape(whole.begin() + 2, whole.end()); };
    std::vector<std::int64_t> extents = spatial(weights.shape);
    for (std::size_t axis = 0; axis < axes; ++axis)
        extents[axis] = (extents[axis] - 1) * dilations[axis] + 1;
    std::vector<std::int64_t> integers = {transposed, attributes.integer("group", 1)};
    const bool is_given = attributes.integers("output_shape", {}).empty();
    const auto pads = padding_of(extents, strides, spatial(transposed ? shape : input.shape),
                                 spatial(transposed ? input.shape : shape), is_given);
    for (const auto* part : {&strides, &dilations, &pads})
        integers.insert(integers.end(), part->begin(), part->end());
    std::vector<Reference> inputs = {input, weights};
    if (has_input(2))
        inputs.push_back(cpu_input(2));
    finish_cpu(cpu_node({CpuOpType::convolution, integers, {}}, inputs, shape));
}

void Importer::cpu_pool() {
    const Attributes attributes(*node_);
    const Reference input = cpu_input(0);
    const Shape shape = output_shape();
    if (node_->output_size() > 1 && !node_->output(1).empty())
        refuse("the indices of its maxima are not supported");
    if (input.shape.size() < 3 || shape.size() != input.shape.size())
        refuse("needs channels and at least one axis behind them");
    const std::size_t axes = input.shape.size() - 2;
    const std::vector<std::int64_t> ones(axes, 1);
    const auto kernel = attributes.integers("kernel_shape", {});
    const auto strides = attributes.integers("strides", ones);
    const auto dilations = attributes.integers("dilations", ones);
    if (kernel.size() != axes || strides.size() != axes || dilations.size() != axes)
        refuse("its kernel, strides or dilations do not fit the input");
    check_between(kernel, 1, max_dimension, "kernel_shape");
    check_between(strides, 1, max_dimension, "strides");
    check_between(dilations, 1, max_dimension, "dilations");
    std::vector<std::int64_t> extents(axes);
    for (std::size_t axis = 0; axis < axes; ++axis)
        extents[axis] = (kernel[axis] - 1) * dilations[axis] + 1;
    const Shape sizes(input.shape.begin() + 2, input.shape.end());
    const Shape counts(shape.begin() + 2, shape.end());
    const auto before = padding_of(extents, strides, sizes, counts, true);
    auto after = attributes.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
    after.erase(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(axes));
    if (attributes.text("auto_pad", "NOTSET") != "NOTSET")
        for (std::size_t axis = 0; axis < axes; ++axis)
            after[axis] = std::max<std::int64_t>(
                (counts[axis] - 1) * strides[axis] + extents[axis] - sizes[axis] - before[axis], 0);
    const std::vector<std::int64_t> behind = std::move(after);
    for (std::size_t axis = 0; axis < axes; ++axis)
        if ((counts[axis] - 1) * strides[axis] >= sizes[axis] + before[axis])
            refuse("a window lies wholly in the padding behind the tensor, where there is nothing "
                   "to pool; export it with ceil_mode 0 or less padding");
    const bool is_average = node_->op_type() == "AveragePool";
    const bool counts_padding = attributes.integer("count_include_pad", 0) != 0;
    std::vector<std::int64_t> integers = {!is_average ? 0 : counts_padding ? 2 : 1};
    for (const auto* part : {&kernel, &strides, &dilations, &before, &behind})
        integers.insert(integers.end(), part->begin(), part->end());
    finish_cpu(cpu_node({CpuOpType::pool, integers, {}}, {input}, shape));
}

} // namespace overtake::compiler
