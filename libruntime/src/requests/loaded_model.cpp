// SPDX-License-Identifier: MIT
#include "requests/loaded_model.hpp"

#include "coordination/coordinated_engine.hpp"
#include "requests/request.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

namespace overtake {

namespace engine {

namespace {

std::shared_ptr<ExecutionMemory> memory_for(InferencePool& pool, RequestMemory& memory,
                                            const std::vector<bool>& lent) {
    const auto shared = std::ranges::find_if(memory.shared, [&](const auto& each) {
        return each.first == &pool && each.second->lent == lent;
    });
    if (shared != memory.shared.end())
        return shared->second;
    return memory.shared.emplace_back(&pool, pool.take_memory(lent)).second;
}

} // namespace

} // namespace engine

LoadedModel::State::State(const Engine::State& engine, const std::shared_ptr<const Model>& model,
                          const coordination::TimesFile* times)
    : plan(plan_once(engine.device, model, PlanParts::segments, engine.cpu, engine.keeps)),
      coordinated(engine.coordinated ? engine.coordinated->load(model, times) : nullptr),
      uses_groups(plan->width() != 0 && !plan->names_cores() && !coordinated),
      inferences(std::make_shared<engine::InferencePool>(plan)), pictures(plan) {
    for (const PlanSegment& segment : plan->segments())
        estimates.emplace_back(segment.model->expected_ns);
    if (!uses_groups)
        return;
    for (const PlanSegment& segment : plan->segments())
        group_estimates.emplace_back(segment.group ? segment.group->expected_ns
                                                   : segment.model->expected_ns);
}

void LoadedModel::State::add_segments(std::vector<engine::TaskSegment>& segments,
                                      engine::RequestMemory& memory,
                                      std::span<const TensorMemory> inputs,
                                      std::span<const TensorMemory> outputs) {
    if (coordinated) {
        const auto whole = coordinated->make_inference(inputs, outputs);
        memory.kept.push_back(whole);
        segments.push_back({nullptr, 0, 0, &fill, whole.get()});
        return;
    }
    const std::shared_ptr<engine::Inference> inference = inferences->take();
    inference->lend(inputs, outputs);
    inference->use(engine::memory_for(*inferences, memory, inference->lent()), pictures);

    const auto add = [&](std::size_t number, std::size_t fc_count, engine::Estimate& estimate) {
        segments.push_back({inference.get(), static_cast<std::uint32_t>(number),
                            static_cast<std::uint32_t>(fc_count), &estimate});
    };
    const std::span<const PlanSegment> planned = plan->segments();
    const bool is_empty = planned.empty();
    if (inference->fills() && !is_empty && planned.front().on_bpu())
        add(inference->fill_segment(), 0, fill);
    for (std::size_t i = 0; i < planned.size(); i++) {
        add(i, planned[i].model->fcs.size(), estimates[i]);
        if (uses_groups && planned[i].group)
            segments.back().group = {static_cast<std::uint32_t>(planned[i].parts.size()),
                                     static_cast<std::uint32_t>(planned[i].group->fcs.size()),
                                     &group_estimates[i]};
    }
    if (is_empty || (inference->drains() && planned.back().on_bpu()))
        add(inference->drain_segment(), 0, drain);
    memory.inferences.push_back(inference);
}

// The public interface

LoadedModel::LoadedModel(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
LoadedModel::~LoadedModel() {
    if (!state_->origin.is_here()) // custom operators may have threads in the parent, too
        (void)state_.release();
}

const Model& LoadedModel::model() const noexcept {
    return state_->model();
}

std::size_t LoadedModel::given_back_bytes() const noexcept {
    return state_->plan->given_back_bytes();
}

std::uint64_t LoadedModel::estimate_ns(std::size_t segment) const {
    state_->origin.require("loaded model");
    if (segment >= state_->estimates.size())
        throw Error(EINVAL, fmt::format("{}: no segment {}, it has {}", model().name(), segment,
                                        state_->estimates.size()));
    const bool is_group = state_->uses_groups && state_->plan->segments()[segment].group;
    return (is_group ? state_->group_estimates : state_->estimates)[segment].ns();
}

} // namespace overtake
