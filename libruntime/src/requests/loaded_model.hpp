// SPDX-License-Identifier: MIT
//
// A model on an engine's device, and the segments that an inference of it is.
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

/// What a request works on until its end.
struct RequestMemory {
    std::vector<std::shared_ptr<void>> kept;
    /// Inferences of one request follow each other, so those of one pool that lend the same share
    /// one.
    std::vector<std::pair<const InferencePool*, std::shared_ptr<ExecutionMemory>>> shared;
    std::vector<std::shared_ptr<Inference>> inferences;
};

} // namespace engine

struct LoadedModel::State {
    /// Throws Error ENOSPC or ENOMEM, or what makes an operator impossible.  With `times`, which
    /// need an engine with several processors, as CoordinatedEngine::load().
    State(const Engine::State& engine, const std::shared_ptr<const Model>& model,
          const coordination::TimesFile* times = nullptr);

    const Model& model() const noexcept { return plan->model(); }
    /// Appends the segments of an inference, whose work is in `memory`.  Throws Error as
    /// Request::add() does; some may have been appended then.
    void add_segments(std::vector<engine::TaskSegment>& segments, engine::RequestMemory& memory,
                      std::span<const TensorMemory> inputs, std::span<const TensorMemory> outputs);

    const ForkOrigin origin;
    const std::shared_ptr<const Plan> plan;
    /// On several processors, which use this instead of what follows; else null.
    const std::shared_ptr<coordination::CoordinatedModel> coordinated;
    const bool uses_groups;                       ///< tasks that name no core take several at once
    std::deque<engine::Estimate> estimates;       ///< by segment
    std::deque<engine::Estimate> group_estimates; ///< the same, of groups
    engine::Estimate fill{0};                     ///< of inputs, in front of a BPU segment
    engine::Estimate drain{0};                    ///< of outputs, behind a BPU segment
    std::shared_ptr<engine::InferencePool> inferences;
    engine::PicturePrograms pictures;
};

} // namespace overtake
