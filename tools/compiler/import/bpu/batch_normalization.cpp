// SPDX-License-Identifier: MIT
//
// BatchNormalization on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "compiler/import/bpu/pairs.hpp"
#include "compiler/import/context.hpp"

namespace overtake::compiler {

void bpu_batch_normalization(Context& context) {
    const Attributes attributes(*context.node);
    const Reference input = variable_input(context, 0);
    if (attributes.integer("training_mode", 0) != 0 || context.node->output_size() > 1)
        refuse(context, "is in training mode; export the model for inference");
    const auto &scale = float_input(context, 1), &bias = float_input(context, 2),
               &mean = float_input(context, 3), &variance = float_input(context, 4);
    const std::size_t channels = value_of(context, input).channels;
    const bool is_planes =
        value_of(context, input).order == Order::planes || input.shape.size() == 2;
    if (input.shape.size() < 2 || !is_planes || input.shape[1] != value_of(context, input).channels)
        refuse(context, "normalises flattened features; export it before Flatten");
    for (const auto* parameter : {&scale, &bias, &mean, &variance})
        if (parameter->size() != channels)
            refuse(context, "its parameters do not have one element per channel");
    const float epsilon = attributes.real("epsilon", 1e-5f);
    std::vector<float> factor(channels), offset(channels);
    for (std::size_t channel = 0; channel < channels; ++channel) {
        factor[channel] = scale[channel] / std::sqrt(variance[channel] + epsilon);
        offset[channel] = bias[channel] - mean[channel] * factor[channel];
    }
    add_affine(context, input, std::move(factor), std::move(offset));
}

} // namespace overtake::compiler
