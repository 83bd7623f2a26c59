// SPDX-License-Identifier: MIT
#include "network/cpu_segments.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cpu/tensor_layout.hpp"
#include "cpu/thread_count.hpp"
#include "overtake/error.hpp"

namespace overtake {

namespace {

using Where = CpuSlot::Where;

bool is_on_host(const CpuStep& step) {
    return step.inputs.front().where != Where::device && step.output.where != Where::device;
}

} // namespace

CpuSegments::CpuSegments(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {
    const cpu::ThreadCount threads(plan_->cpu_threads());
    std::size_t own = 0, inputs = 0;
    for (const CpuProgram& program : plan_->cpu_programs()) {
        std::vector<Made>& made = made_.emplace_back();
        for (const CpuStep& step : program.steps) {
            Made& next = made.emplace_back();
            if (step.prepared)
                next.kernel = step.prepared->kernel(step.form);
            else if (is_on_host(step))
                next.conversion.emplace(plan_->tensors()[step.output.tensor].shape, step.from,
                                        step.to);
        }
        own = std::max(own, program.own_floats);
        inputs = std::max(inputs, program.most_inputs);
    }
    try {
        own_.resize(own);
        inputs_.reserve(inputs);
    } catch (const std::bad_alloc&) {
        throw Error(ENOMEM, fmt::format("{}: no memory for {} values of its CPU operators",
                                        plan_->model().name(), own));
    }
}

void CpuSegments::compute(std::size_t segment, std::span<const TensorPlace> places) {
    const std::vector<CpuStep>& steps = plan_->cpu_programs()[segment].steps;
    const cpu::ThreadCount threads(plan_->cpu_threads());
    for (std::size_t i = 0; i < steps.size(); i++) {
        const auto fail = [&](int code, const char* what) {
            throw Error(code, "operator '" + std::string(steps[i].op->name) + "': " + what);
        };
        try {
            run(steps[i], made_[segment][i], places);
        } catch (const Error& error) {
            fail(error.code(), error.what());
        } catch (const std::bad_alloc&) {
            fail(ENOMEM, "there is not enough memory for it");
        }
    }
}

std::span<const float> CpuSegments::values_at(const CpuSlot& slot,
                                              std::span<const TensorPlace> places) {
    return slot.where == Where::constant ? plan_->tensors()[slot.tensor].data
                                         : memory_at(slot, places);
}

std::span<float> CpuSegments::memory_at(const CpuSlot& slot, std::span<const TensorPlace> places) {
    return slot.where == Where::host ? places[slot.tensor].host
                                     : std::span(own_).subspan(slot.offset, slot.count);
}

void CpuSegments::run(const CpuStep& step, const Made& made, std::span<const TensorPlace> places) {
    const Tensor& tensor = plan_->tensors()[step.output.tensor];
    const CpuSlot& from = step.inputs.empty() ? step.output : step.inputs.front();
    if (made.kernel) {
        inputs_.clear();
        for (const CpuSlot& slot : step.inputs)
            inputs_.push_back(values_at(slot, places));
        const std::span<float> output = memory_at(step.output, places);
        if (step.output.where == Where::own && step.op->type == CpuOpType::custom)
            std::ranges::fill(output, 0.0f); // clears the values of other tensors
        made.kernel(inputs_, output);
    } else if (made.conversion) {
        made.conversion->run(values_at(from, places), memory_at(step.output, places));
    } else if (from.where == Where::device) {
        const std::span<float> to = memory_at(step.output, places);
        if (cpu::is_blocked(step.to))
            blocks_from_device(tensor, places[from.tensor].device, step.to, to);
        else
            from_device(tensor, places[from.tensor].device, to);
    } else {
        const std::span<const float> values = values_at(from, places);
        if (cpu::is_blocked(step.from))
            blocks_to_device(tensor, step.from, values, places[step.output.tensor].device);
        else
            to_device(tensor, values, places[step.output.tensor].device);
    }
}

} // namespace overtake
