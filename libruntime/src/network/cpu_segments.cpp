// SPDX-License-Identifier: MIT
#include "network/cpu_segments.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "model/tensor_layout.hpp"
#include "overtake/error.hpp"

namespace overtake {

CpuSegments::CpuSegments(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {
    for (const PlanSegment& segment : plan_->segments()) {
        std::vector<cpu::Kernel>& made = kernels_.emplace_back();
        for (const CpuOp& op : segment.model->cpu_ops)
            made.push_back(cpu::make_kernel(cpu::operation_of(plan_->tensors(), op)));
    }
    try {
        values_.resize(plan_->most_cpu_values());
        inputs_.reserve(plan_->most_cpu_inputs());
    } catch (const std::bad_alloc&) {
        throw Error(ENOMEM, fmt::format("{}: no memory for {} values of its CPU operators",
                                        plan_->model().name(), plan_->most_cpu_values()));
    }
}

void CpuSegments::compute(std::size_t segment, std::span<const TensorPlace> places) {
    const std::vector<CpuOp>& ops = plan_->segments()[segment].model->cpu_ops;
    for (std::size_t i = 0; i < ops.size(); i++) {
        const auto fail = [&](int code, const char* what) {
            throw Error(code, "operator '" + std::string(ops[i].name) + "': " + what);
        };
        try {
            compute(ops[i], kernels_[segment][i], places);
        } catch (const Error& error) {
            fail(error.code(), error.what());
        } catch (const std::bad_alloc&) {
            fail(ENOMEM, "there is not enough memory for it");
        }
    }
}

void CpuSegments::compute(const CpuOp& op, const cpu::Kernel& kernel,
                          std::span<const TensorPlace> places) {
    std::span<float> free = values_;
    const auto take = [&](const Tensor& tensor) {
        const std::span<float> taken = free.first(tensor.elements());
        free = free.subspan(tensor.elements());
        return taken;
    };
    inputs_.clear();
    for (const std::uint32_t number : op.inputs) {
        const Tensor& tensor = plan_->tensors()[number];
        if (tensor.is_constant()) {
            inputs_.push_back(tensor.data);
        } else if (!tensor.on_device()) {
            inputs_.push_back(places[number].host);
        } else {
            const std::span<float> values = take(tensor);
            from_device(tensor, places[number].device, values);
            inputs_.push_back(values);
        }
    }
    const Tensor& output = plan_->tensors()[op.output];
    if (!output.on_device()) {
        kernel(inputs_, places[op.output].host);
        return;
    }
    const std::span<float> values = take(output);
    std::ranges::fill(values, 0.0f);
    kernel(inputs_, values);
    to_device(output, values, places[op.output].device);
}

} // namespace overtake
