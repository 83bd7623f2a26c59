// SPDX-License-Identifier: MIT
#include "network/plan.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cpu/thread_count.hpp"
#include "fork_origin.hpp"
#include "overtake/core_profiles.hpp"
#include "overtake/error.hpp"
#include "overtake/event.hpp"
#include "overtake_isa.h"

namespace overtake {

namespace {

constexpr unsigned most_cpu_threads = 64;

/// The plans that were made and may still live.
struct KnownPlans {
    std::mutex mutex;
    // A plan keeps its device alive, so the device's address identifies the device.  A plan may
    // release its model, so a number identifies the model.
    std::map<std::tuple<const Device*, std::uint64_t, PlanParts, CpuOptions, PlanKeeps>,
             std::weak_ptr<const Plan>>
        plans;
};

KnownPlans& plans_of_process() {
    static OnePerProcess<KnownPlans> known;
    return known.get();
}

} // namespace

Plan::Plan(Upload upload, PlanParts parts, const CpuOptions& cpu)
    : upload_(std::move(upload)), model_id_(overtake::model_id(upload_.model->name())),
      cores_(cores_for(upload_.device->core_profiles(), upload_.model->profile_name())), cpu_(cpu) {
    if (parts == PlanParts::segments) {
        add_segments();
    } else {
        units_ = make_unit_table(model());
        for (const Segment* segment : units_->segments)
            add(*segment);
    }
    find_internal_tensors();
}

Plan::Plan(const Upload& upload, const KeptModel& kept, const CpuOptions& cpu)
    : upload_{upload.device,  kept.model,           upload.program,
              upload.weights, upload.program_bytes, upload.weights_bytes},
      model_id_(overtake::model_id(kept.model->name())),
      cores_(cores_for(upload.device->core_profiles(), kept.model->profile_name())), cpu_(cpu),
      keeps_(PlanKeeps::running) {
    add_segments();
    find_internal_tensors();
    make_cpu_programs_from(*upload.model, kept);
    const std::size_t before = upload.model->file().size() + table_bytes(*upload.model);
    given_back_bytes_ = before - std::min(before, kept.table_bytes);
}

std::shared_ptr<const Plan> Plan::keeping_little(const Upload& upload, const CpuOptions& cpu) {
    std::vector<bool> wanted(ModelContents::of(*upload.model).segment_tensors);
    for (;;) {
        const KeptModel kept = keep_for_running(*upload.model, wanted);
        const std::shared_ptr<const Plan> plan(new Plan(upload, kept, cpu));
        const std::vector<std::uint32_t> read = plan->constants_read(kept);
        if (read.empty())
            return plan;
        for (const std::uint32_t tensor : read)
            wanted[kept.old_numbers[tensor]] = true;
    }
}

void Plan::add_segments() {
    for (const Segment& segment : ModelContents::of(model()).segments)
        add(segment);
    // A single part is worth while only if it names a core that is faster than others.
    const auto& cores = ModelContents::of(model()).core_plan;
    if (cores && (cores->width > 1 || !cores->are_alike))
        add_groups(*cores);
}

/// Makes the programs from values that only the whole model has; kernels have copies of them.
void Plan::make_cpu_programs_from(const Model& whole, const KeptModel& kept) {
    std::vector<Tensor> values(tensors().begin(), tensors().end());
    for (std::size_t i = 0; i < values.size(); i++)
        if (kept.is_left_out[i])
            values[i].data = ModelContents::of(whole).tensors[kept.old_numbers[i]].data;
    std::call_once(cpu_once_, [&] { cpu_programs_ = make_cpu_programs(values); });
    for (std::size_t i = 0; i < values.size(); i++)
        if (kept.is_left_out[i])
            is_internal_[i] = true;
}

std::vector<std::uint32_t> Plan::constants_read(const KeptModel& kept) const {
    std::vector<std::uint32_t> read;
    for (const CpuProgram& program : cpu_programs_)
        for (const CpuStep& step : program.steps)
            for (std::size_t i = 0; i < step.inputs.size(); i++)
                if (kept.is_left_out[step.inputs[i].tensor] &&
                    !(step.prepared && step.prepared->has_copy_of(i)))
                    read.push_back(step.inputs[i].tensor);
    return read;
}

/// In a plan of units no tensor is internal: a processor of the program's has every tensor that its
/// unit writes.
void Plan::find_internal_tensors() {
    if (units_)
        is_internal_.resize(tensors().size());
    else
        is_internal_ = internal_tensors(ModelContents::of(model()), tensors());
}

std::span<const CpuProgram> Plan::cpu_programs() const {
    std::call_once(cpu_once_, [this] { cpu_programs_ = make_cpu_programs(tensors()); });
    return cpu_programs_;
}

std::vector<CpuProgram> Plan::make_cpu_programs(std::span<const Tensor> tensors) const {
    const cpu::ThreadCount threads(cpu_.threads);
    std::vector<CpuProgram> made;
    for (const PlanSegment& segment : segments_)
        made.push_back(
            make_cpu_program(segment.model->cpu_ops, tensors, is_internal_, cpu_.layout));
    return made;
}

/// Adds the groups, but none if the device cannot run them.
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
    const bool has_all = units_ || keeps_ == PlanKeeps::running;
    return has_all ? std::span<const Tensor>(ModelContents::of(model()).tensors)
                   : model().tensors();
}

void Plan::add(const Segment& segment) {
    PlanSegment& planned = segments_.emplace_back();
    planned.model = &segment;
    if (planned.on_bpu())
        add_bindings(planned);
}

void Plan::add_bindings(PlanSegment& segment) const {
    std::vector<overtake_binding>& bindings = segment.bindings;
    bindings.push_back({upload_.program->address(), upload_.program_bytes, OVERTAKE_REGION_PROGRAM,
                        OVERTAKE_MAP_READ});
    if (upload_.weights)
        bindings.push_back({upload_.weights->address(), upload_.weights_bytes,
                            OVERTAKE_REGION_WEIGHTS, OVERTAKE_MAP_READ});
    segment.fixed_bindings = bindings.size();
    for (const TensorBinding& binding : segment.model->bindings)
        bindings.push_back({0, tensors()[binding.tensor].bytes, binding.region,
                            OVERTAKE_MAP_READ | (binding.writable ? OVERTAKE_MAP_WRITE : 0)});
}

std::shared_ptr<const Plan> plan_once(const std::shared_ptr<Device>& device,
                                      const std::shared_ptr<const Model>& model, PlanParts parts,
                                      const CpuOptions& cpu, PlanKeeps keeps) {
    KnownPlans& known = plans_of_process();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.plans, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<const Plan>& entry =
        known.plans[{device.get(), ModelContents::of(*model).number, parts, cpu, keeps}];
    std::shared_ptr<const Plan> plan = entry.lock();
    if (!plan)
        entry = plan = keeps == PlanKeeps::running
                           ? Plan::keeping_little(upload(device, model), cpu)
                           : std::make_shared<const Plan>(upload(device, model), parts, cpu);
    return plan;
}

CpuOptions checked_cpu_options(CpuLayout layout, unsigned threads) {
    if (threads < 1 || threads > most_cpu_threads)
        throw Error(EINVAL, fmt::format("CPU threads: {}, but 1..{} are possible", threads,
                                        most_cpu_threads));
    return {layout, threads};
}

PlanKeeps keeps_at_record_level(unsigned level) {
    return checked_record_level(level) == strict_record_level ? PlanKeeps::running : PlanKeeps::all;
}

std::size_t known_plans() {
    KnownPlans& known = plans_of_process();
    const std::lock_guard lock(known.mutex);
    return known.plans.size();
}

} // namespace overtake
