// SPDX-License-Identifier: MIT
#include "network/plan.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "fork_origin.hpp"
#include "overtake/core_profiles.hpp"
#include "overtake/event.hpp"
#include "overtake_isa.h"

namespace overtake {

namespace {

/// What has been planned and may still live.
struct KnownPlans {
    std::mutex mutex;
    // A plan keeps its device and model alive, so the addresses of a live entry are unique.
    std::map<std::tuple<const Device*, const Model*, PlanParts, CpuLayout>,
             std::weak_ptr<const Plan>>
        plans;
};

KnownPlans& plans_of_process() {
    static OnePerProcess<KnownPlans> known;
    return known.get();
}

} // namespace

Plan::Plan(Upload upload, PlanParts parts, CpuLayout cpu_layout)
    : upload_(std::move(upload)), model_id_(overtake::model_id(upload_.model->name())),
      cores_(cores_for(upload_.device->core_profiles(), upload_.model->profile_name())),
      cpu_layout_(cpu_layout) {
    if (parts == PlanParts::segments) {
        for (const Segment& segment : ModelContents::of(model()).segments)
            add(segment);
        // One part alone is worth while where it names a core that is faster than others.
        const auto& cores = ModelContents::of(model()).core_plan;
        if (cores && (cores->width > 1 || !cores->are_alike))
            add_groups(*cores);
    } else {
        units_ = make_unit_table(model());
        for (const Segment* segment : units_->segments)
            add(*segment);
    }
    find_internal_tensors();
}

/// Of units all tensors are known: a processor of the program's has each that its unit writes.
void Plan::find_internal_tensors() {
    if (units_)
        is_internal_.resize(tensors().size());
    else
        is_internal_ = internal_tensors(ModelContents::of(model()));
}

std::span<const CpuProgram> Plan::cpu_programs() const {
    std::call_once(cpu_once_, [this] {
        std::vector<CpuProgram> made;
        for (const PlanSegment& segment : segments_)
            made.push_back(
                make_cpu_program(segment.model->cpu_ops, tensors(), is_internal_, cpu_layout_));
        cpu_programs_ = std::move(made);
    });
    return cpu_programs_;
}

/// Nothing where the device cannot run it.
void Plan::add_groups(const CorePlan& plan) {
    if (!device().takes_groups())
        return;
    const auto profiles = device().core_profiles();
    const std::vector<unsigned> cores = cores_named(profiles, plan.profiles);
    if (cores.empty())
        return;
    width_ = plan.width;
    names_cores_ = !plan.are_alike || !are_alike(profiles);
    for (std::size_t i = 0; i < segments_.size(); i++) {
        PlanSegment& segment = segments_[i];
        if (!segment.on_bpu())
            continue;
        segment.group = &plan.segments[i];
        segment.parts = segment.group->parts;
        for (overtake_part& part : segment.parts)
            part.core = names_cores_ ? cores[part.core - 1] : core_any;
    }
}

std::span<const Tensor> Plan::tensors() const noexcept {
    return units_ ? std::span<const Tensor>(ModelContents::of(model()).tensors) : model().tensors();
}

void Plan::add(const Segment& segment) {
    PlanSegment& planned = segments_.emplace_back();
    planned.model = &segment;
    if (planned.on_bpu())
        add_bindings(planned);
}

void Plan::add_bindings(PlanSegment& segment) const {
    std::vector<overtake_binding>& bindings = segment.bindings;
    bindings.push_back({upload_.program->address(), model().program().size(),
                        OVERTAKE_REGION_PROGRAM, OVERTAKE_MAP_READ});
    if (upload_.weights)
        bindings.push_back({upload_.weights->address(), model().weights().size(),
                            OVERTAKE_REGION_WEIGHTS, OVERTAKE_MAP_READ});
    segment.fixed_bindings = bindings.size();
    for (const TensorBinding& binding : segment.model->bindings)
        bindings.push_back({0, tensors()[binding.tensor].bytes, binding.region,
                            OVERTAKE_MAP_READ | (binding.writable ? OVERTAKE_MAP_WRITE : 0)});
}

std::shared_ptr<const Plan> plan_once(const std::shared_ptr<Device>& device,
                                      const std::shared_ptr<const Model>& model, PlanParts parts,
                                      CpuLayout cpu_layout) {
    KnownPlans& known = plans_of_process();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.plans, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<const Plan>& entry = known.plans[{device.get(), model.get(), parts, cpu_layout}];
    std::shared_ptr<const Plan> plan = entry.lock();
    if (!plan)
        entry = plan = std::make_shared<const Plan>(upload(device, model), parts, cpu_layout);
    return plan;
}

std::size_t known_plans() {
    KnownPlans& known = plans_of_process();
    const std::lock_guard lock(known.mutex);
    return known.plans.size();
}

} // namespace overtake
