// SPDX-License-Identifier: MIT
//
// BatchNormalization on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Binary;

// Adds a scale and an offset for each channel, which is axis 1.
void cpu_batch_normalization(Context& context) {
    if (Attributes(*context.node).integer("training_mode", 0) != 0 ||
        context.node->output_size() > 1)
        refuse(context, "is in training mode; export the model for inference");
    const Reference input = cpu_input(context, 0);
    const auto &scale = float_input(context, 1), &bias = float_input(context, 2),
               &mean = float_input(context, 3), &variance = float_input(context, 4);
    const float epsilon = Attributes(*context.node).real("epsilon", 1e-5f);
    Shape shape(input.shape.size(), 1);
    if (shape.size() < 2 || input.shape[1] != static_cast<std::int64_t>(scale.size()) ||
        bias.size() != scale.size() || mean.size() != scale.size() ||
        variance.size() != scale.size())
        refuse(context, "its parameters do not have one element per channel");
    shape[1] = input.shape[1];
    std::vector<float> factor(scale.size()), offset(scale.size());
    for (std::size_t channel = 0; channel < scale.size(); ++channel) {
        factor[channel] = scale[channel] / std::sqrt(variance[channel] + epsilon);
        offset[channel] = bias[channel] - mean[channel] * factor[channel];
    }
    const Reference scaled =
        cpu_node(context, {CpuOpType::binary, {static_cast<std::int64_t>(Binary::multiply)}, {}},
                 {input, cpu_constant(context, shape, factor)}, input.shape);
    finish_cpu(context,
               cpu_node(context, {CpuOpType::binary, {static_cast<std::int64_t>(Binary::add)}, {}},
                        {scaled, cpu_constant(context, shape, offset)}, input.shape));
}

} // namespace overtake::compiler
