// SPDX-License-Identifier: MIT
//
// A model wholly on the CPU, whose convolution oneDNN computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core_plans.hpp"
#include "model_spec.hpp"
#include "record_level.hpp"

namespace overtake::test {

inline fbs::TensorT& add_tensor(fbs::ModelT& model, const std::string& name,
                                const std::vector<std::uint32_t>& shape, bool is_constant = false) {
    model.tensors.push_back(std::make_unique<fbs::TensorT>());
    fbs::TensorT& tensor = *model.tensors.back();
    tensor.name = name;
    tensor.shape = shape;
    tensor.bytes = sizeof(float);
    for (const std::uint32_t dimension : shape)
        tensor.bytes *= dimension;
    if (is_constant)
        tensor.data =
            half_steps(tensor.bytes / sizeof(float), static_cast<int>(model.tensors.size()));
    return tensor;
}

inline void add_op(fbs::CpuSegmentT& segment, fbs::CpuOpType type, const std::string& name,
                   std::vector<std::uint32_t> inputs, std::uint32_t output,
                   std::vector<std::int64_t> integers) {
    segment.ops.push_back(std::make_unique<fbs::CpuOpT>());
    fbs::CpuOpT& op = *segment.ops.back();
    op.type = type;
    op.name = name;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.integers = std::move(integers);
}

/// A convolution over `axes` axes with weights and a bias, and a sum with a constant.  oneDNN has
/// no primitive for four axes: there the kernel reads the weights in each run.
inline std::vector<std::byte> convolution_and_sum(std::size_t axes) {
    auto model = unpacked(copy_and_softmax());
    model->tensors.clear();
    const auto shape = [axes](std::uint32_t first, std::uint32_t second, std::uint32_t each) {
        std::vector<std::uint32_t> shape{first, second};
        shape.resize(axes + 2, each);
        return shape;
    };
    add_tensor(*model, "image", shape(1, 16, 4));
    add_tensor(*model, "weights", shape(32, 16, 3), true);
    add_tensor(*model, "bias", {32}, true);
    add_tensor(*model, "between", shape(1, 32, 4));
    add_tensor(*model, "scale", shape(1, 32, 1), true);
    add_tensor(*model, "result", shape(1, 32, 4));
    auto segment = std::make_unique<fbs::SegmentT>();
    segment->cpu = std::make_unique<fbs::CpuSegmentT>();
    std::vector<std::int64_t> geometry{0, 1};
    geometry.resize(2 + 3 * axes, 1);
    add_op(*segment->cpu, fbs::CpuOpType::Convolution, "windows", {0, 1, 2}, 3, geometry);
    add_op(*segment->cpu, fbs::CpuOpType::Binary, "sum", {3, 4}, 5, {0});
    model->segments.clear();
    model->segments.push_back(std::move(segment));
    model->inputs = {0};
    model->outputs = {5};
    return packed(*model);
}

} // namespace overtake::test
