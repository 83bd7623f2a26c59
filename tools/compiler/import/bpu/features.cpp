// SPDX-License-Identifier: MIT
#include "compiler/import/bpu/features.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/bpu/order.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/limits.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {

namespace {

// Returns the weights, of shape (outputs, features), in the order of a convolution's weights.
std::vector<float> in_planes(const std::vector<float>& weights, const Value& features) {
    if (features.order == Order::planes)
        return weights;
    std::vector<float> result(weights.size());
    const std::size_t each = features.elements_of_image();
    for_each_element(features, [&](auto channel, auto y, auto x, std::size_t index) {
        const std::size_t place = (std::size_t{channel} * features.height + y) * features.width + x;
        for (std::size_t first = 0; first < weights.size(); first += each)
            result[first + place] = weights[first + index];
    });
    return result;
}

} // namespace

void add_rows_product(Context& context, const Reference& input, std::vector<float> weights,
                      std::vector<float> bias) {
    if (input.shape.back() > std::int64_t{OVERTAKE_MAX_KERNEL_ELEMENTS})
        refuse(context,
               "has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) + " features");
    Node node = new_node(context, op::Convolution{});
    auto& convolution = *node.as<op::Convolution>();
    convolution.weights = std::move(weights);
    convolution.bias = std::move(bias);
    node.inputs = {in_order(context, input, Order::rows)};
    Shape shape = input.shape;
    shape.back() = static_cast<std::int64_t>(convolution.bias.size());
    finish(context, std::move(node),
           add_value(context, context.node->output(0), shape, Order::rows));
}

bool is_row_of_features(const Context& context, const Reference& matrix) {
    const std::uint32_t batch = value_of(context, matrix).batch;
    return matrix.shape[0] == batch;
}

void add_fully_connected(Context& context, std::vector<float> weights, std::vector<float> bias) {
    const Reference input = variable_input(context, 0);
    const Value& data = value_of(context, input);
    if (!data.fits_device())
        return add_rows_product(context, input, std::move(weights), std::move(bias));
    if (data.elements_of_image() > OVERTAKE_MAX_KERNEL_ELEMENTS || data.height > max_window ||
        data.width > max_window)
        refuse(context,
               "has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) + " features");
    Node node = new_node(context, op::Convolution{});
    auto& convolution = *node.as<op::Convolution>();
    convolution.window.kernel_height = data.height;
    convolution.window.kernel_width = data.width;
    if (data.batch > 1) // one window for each image
        convolution.window.stride_height = data.height;
    convolution.weights = in_planes(weights, data);
    convolution.bias = std::move(bias);
    node.inputs = {input.value};
    const auto outputs = static_cast<std::int64_t>(convolution.bias.size());
    finish(context, std::move(node),
           add_value(context, context.node->output(0), {input.shape[0], outputs}));
}

} // namespace overtake::compiler
