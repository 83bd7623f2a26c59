// SPDX-License-Identifier: MIT
#include "network/workspace.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "model/tensor_layout.hpp"
#include "overtake_isa.h"

namespace overtake {

namespace {

/// What a model asks for may be more than there is.
std::vector<float> array_of(const Tensor& tensor) {
    try {
        return std::vector<float>(tensor.elements());
    } catch (const std::bad_alloc&) {
        throw Error(ENOMEM, fmt::format("tensor {}: no memory for {} elements", tensor.name,
                                        tensor.elements()));
    }
}

/// In place where the values are in host memory; otherwise they are put into `copy`.
std::span<const float> view(const Tensor& tensor, const TensorPlace& place,
                            std::vector<float>& copy) {
    if (tensor.is_constant())
        return tensor.data;
    if (!tensor.on_device())
        return place.host;
    copy = values_of(tensor, place);
    return copy;
}

void compute(const Model& model, const CpuOp& op, const cpu::Kernel& kernel,
             std::span<const TensorPlace> places) {
    std::vector<std::vector<float>> copies(op.inputs.size());
    cpu::Inputs inputs;
    for (std::size_t i = 0; i < op.inputs.size(); i++) {
        const std::uint32_t number = op.inputs[i];
        inputs.push_back(view(model.tensors()[number], places[number], copies[i]));
    }
    const Tensor& output = model.tensors()[op.output];
    if (!output.on_device()) {
        kernel(inputs, places[op.output].host);
        return;
    }
    std::vector<float> values(output.elements());
    kernel(inputs, values);
    to_device(output, values, places[op.output].device);
}

} // namespace

Kernels make_kernels(const Model& model) {
    Kernels kernels;
    for (const Segment& segment : ModelContents::of(model).segments) {
        std::vector<cpu::Kernel>& made = kernels.emplace_back();
        for (const CpuOp& op : segment.cpu_ops)
            made.push_back(cpu::make_kernel(cpu::operation_of(model.tensors(), op)));
    }
    return kernels;
}

Workspace::Workspace(std::shared_ptr<const Upload> upload, const std::vector<bool>& lent)
    : upload_(std::move(upload)) {
    std::size_t number = 0;
    for (const Tensor& tensor : model().tensors()) {
        TensorPlace& place = places_.emplace_back();
        const bool is_lent = number < lent.size() && lent[number];
        number++;
        if (is_lent || tensor.is_constant())
            continue;
        if (tensor.on_device()) {
            const Buffer& buffer =
                *buffers_.emplace_back(upload_->device->create_buffer(tensor.bytes));
            place.device = {buffer.data(), tensor.bytes};
            place.address = buffer.address();
        } else {
            place.host = arrays_.emplace_back(array_of(tensor));
        }
    }
}

std::vector<overtake_binding> bindings_of(const Upload& upload, const Segment& segment,
                                          std::span<const TensorPlace> places) {
    const Model& model = *upload.model;
    std::vector<overtake_binding> bindings;
    bindings.push_back({upload.program->address(), model.program().size(), OVERTAKE_REGION_PROGRAM,
                        OVERTAKE_MAP_READ});
    if (upload.weights)
        bindings.push_back({upload.weights->address(), model.weights().size(),
                            OVERTAKE_REGION_WEIGHTS, OVERTAKE_MAP_READ});
    for (const TensorBinding& binding : segment.bindings)
        bindings.push_back({places[binding.tensor].address, model.tensors()[binding.tensor].bytes,
                            binding.region,
                            OVERTAKE_MAP_READ | (binding.writable ? OVERTAKE_MAP_WRITE : 0)});
    return bindings;
}

void compute_segment(const Model& model, const Segment& segment,
                     const std::vector<cpu::Kernel>& kernels, std::span<const TensorPlace> places) {
    for (std::size_t i = 0; i < segment.cpu_ops.size(); i++) {
        const CpuOp& op = segment.cpu_ops[i];
        const auto fail = [&](int code, const char* what) {
            throw Error(code, "operator '" + std::string(op.name) + "': " + what);
        };
        try {
            compute(model, op, kernels[i], places);
        } catch (const Error& error) {
            fail(error.code(), error.what());
        } catch (const std::bad_alloc&) {
            fail(ENOMEM, "there is not enough memory for it");
        }
    }
}

std::vector<float> values_of(const Tensor& tensor, const TensorPlace& place) {
    if (tensor.is_constant())
        return {tensor.data.begin(), tensor.data.end()};
    if (!tensor.on_device())
        return {place.host.begin(), place.host.end()};
    std::vector<float> values(tensor.elements());
    from_device(tensor, place.device, values);
    return values;
}

} // namespace overtake
