// SPDX-License-Identifier: MIT
//
// A model on an engine's device, and the segments of its inferences.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/estimate.hpp"
#include "engine/inference.hpp"
#include "engine/picture_program.hpp"
#include "engine/task_segment.hpp"
#include "fork_origin.hpp"
#include "network/plan.hpp"
#include "overtake/engine.hpp"

namespace overtake {

namespace coordination {
class CoordinatedModel;
struct TimesFile;
} // namespace coordination

namespace engine {

/// The memory that a request uses until its end.
struct RequestMemory {
    std::vector<std::shared_ptr<void>> kept;
    /// Execution memory.  Inferences of one request follow each other, so those of one pool that
    /// lend the same tensors share one.
    std::vector<std::pair<const InferencePool*, std::shared_ptr<ExecutionMemory>>> shared;
    std::vector<std::shared_ptr<Inference>> inferences;
};

} // namespace engine

struct LoadedModel::State {
    /// Throws Error ENOSPC or ENOMEM, or that of an operator that cannot be made.  `times` need an
    /// engine with several processors; then it throws as CoordinatedEngine::load().
    State(const Engine::State& engine, const std::shared_ptr<const Model>& model,
          const coordination::TimesFile* times = nullptr);

    const Model& model() const noexcept { return plan->model(); }
    /// Appends the segments of an inference, whose work is in `memory`.  Throws Error as
    /// Request::add() does; some segments may have been appended then.
    void add_segments(std::vector<engine::TaskSegment>& segments, engine::RequestMemory& memory,
                      std::span<const TensorMemory> inputs, std::span<const TensorMemory> outputs);

    const ForkOrigin origin;
    const std::shared_ptr<const Plan> plan;
    /// On several processors: used instead of the members below, but for `fill`; else null.
    const std::shared_ptr<coordination::CoordinatedModel> coordinated;
    const bool uses_groups;                 ///< a task that names no core takes several cores
    std::deque<engine::Estimate> estimates; ///< by segment
    /// By segment in parts for several cores; empty unless uses_groups.
    std::deque<engine::Estimate> group_estimates;
    /// The time to copy inputs, in front of a first segment on the BPU.  On several processors:
    /// that of a whole inference.
    engine::Estimate fill{0};
    /// The time to copy outputs, behind a last segment on the BPU or in a model without segments.
    engine::Estimate drain{0};
    std::shared_ptr<engine::InferencePool> inferences;
    engine::PicturePrograms pictures;
};

} // namespace overtake
