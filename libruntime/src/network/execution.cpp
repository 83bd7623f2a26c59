// SPDX-License-Identifier: MIT
#include "network/execution.hpp"

#include <utility>

namespace overtake {

Execution::Execution(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), bindings_(plan_->segments().size()) {
    for (std::size_t i = 0; i < bindings_.size(); i++)
        bindings_[i] = plan_->segments()[i].bindings;
    places_.reserve(plan_->tensors().size());
}

void Execution::bind(const Workspace& workspace, CpuSegments* cpu,
                     std::span<const LentTensor> lent) {
    cpu_ = cpu;
    places_ = workspace.places();
    for (const LentTensor& each : lent)
        places_[each.tensor] = each.place;
    for (std::size_t i = 0; i < bindings_.size(); i++) {
        const PlanSegment& segment = plan_->segments()[i];
        bindings_[i] = segment.bindings;
        for (std::size_t k = segment.fixed_bindings; k < bindings_[i].size(); k++) {
            const TensorBinding& bound = segment.model->bindings[k - segment.fixed_bindings];
            bindings_[i][k].address = places_[bound.tensor].address;
        }
    }
}

void Execution::describe(std::size_t segment, Job& job) const {
    const Segment& model = *plan_->segments()[segment].model;
    job.fcs = model.fcs;
    job.bindings = bindings_[segment];
    job.scratch_bytes = model.scratch_bytes;
}

std::int32_t Execution::compute(std::size_t segment) {
    cpu_->compute(segment, places_);
    return 0;
}

} // namespace overtake
