// SPDX-License-Identifier: MIT
#include "cpu_time.hpp"

#include <cstdint>

#include "cpu/rates.hpp"

namespace overtake::command {
namespace {

std::uint64_t elements_of(const fbs::Tensor& tensor) {
    std::uint64_t elements = 1;
    for (const std::uint32_t size : *tensor.shape())
        elements *= size;
    return elements;
}

// Returns the MACs of the nodes that the CPU runs, in the order of execution, like its operators.
std::vector<std::uint64_t> macs_on_cpu(const fbs::Model& model) {
    std::vector<std::uint64_t> macs;
    if (model.nodes())
        for (const fbs::NodeReport* node : *model.nodes())
            if (!node->on_bpu())
                macs.push_back(node->macs());
    return macs;
}

double estimated_us(const fbs::Model& model, const fbs::CpuOp& op, std::uint64_t macs) {
    const fbs::Profile& profile = *model.profile();
    const cpu::Rates rates{profile.cpu_macs_per_us(), profile.cpu_bytes_per_us(),
                           profile.cpu_operator_ns()};
    std::uint64_t elements = 0;
    for (const auto* tensors : {op.inputs(), op.outputs()})
        if (tensors)
            for (const std::uint32_t number : *tensors)
                elements += elements_of(*model.tensors()->Get(number));
    return rates.microseconds(macs, elements);
}

} // namespace

std::vector<double> estimated_cpu_us(const fbs::Model& model) {
    const std::vector<std::uint64_t> macs = macs_on_cpu(model);
    std::vector<double> times;
    for (const fbs::Segment* segment : *model.segments())
        if (segment->cpu())
            for (const fbs::CpuOp* op : *segment->cpu()->ops())
                times.push_back(
                    estimated_us(model, *op, times.size() < macs.size() ? macs[times.size()] : 0));
    return times;
}

} // namespace overtake::command
