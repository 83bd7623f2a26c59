// SPDX-License-Identifier: MIT
#include "network/execution.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace overtake {

Execution::Execution(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), bindings_(plan_->segments().size()) {
    for (std::size_t i = 0; i < bindings_.size(); i++)
        bindings_[i] = plan_->segments()[i].bindings;
    places_.reserve(plan_->tensors().size());
    parts_.reserve(plan_->width());
}

void Execution::bind(const Workspace& workspace, CpuSegments* cpu,
                     std::span<const LentTensor> lent) {
    cpu_ = cpu;
    places_ = workspace.places();
    group_record_ = workspace.group_record();
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

void Execution::describe_group(std::size_t segment, std::span<const unsigned> cores, Job& job) {
    const PlanSegment& planned = plan_->segments()[segment];
    job.fcs = planned.group->fcs;
    job.bindings = bindings_[segment];
    job.scratch_bytes = planned.group->scratch_bytes;
    job.parts = planned.parts;
    job.stages = planned.group->stages;
    job.group_record = group_record_->address();
    if (cores.empty())
        return;
    parts_ = planned.parts;
    for (std::size_t i = 0; i < parts_.size(); i++)
        parts_[i].core = cores[i];
    job.parts = parts_;
}

std::uint64_t Execution::alone_ns() const {
    overtake_group_record record;
    std::memcpy(&record, group_record_->data(), sizeof(record));
    return record.alone_ns;
}

std::string Execution::name_of(std::size_t segment) const {
    return fmt::format("model '{}', segment {} of {}", plan_->model().name(), segment + 1,
                       plan_->segments().size());
}

std::int32_t Execution::compute(std::size_t segment) {
    cpu_->compute(segment, places_);
    return 0;
}

} // namespace overtake
