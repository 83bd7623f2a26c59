// SPDX-License-Identifier: MIT
//
// The state of engines and requests behind the public header.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "coordination/coordinated_engine.hpp"
#include "engine/run.hpp"
#include "engine/threaded_engine.hpp"
#include "fork_origin.hpp"
#include "overtake/engine.hpp"
#include "requests/loaded_model.hpp"

namespace overtake {

namespace engine {

/// Returns the options that a request's owner wants for its task.
RunOptions run_options(const TaskOptions& options);

} // namespace engine

/// The state of an engine.  Requests keep it, too: a request that is submitted after the engine has
/// been destroyed ends as cancelled.
struct Engine::State {
    State(std::shared_ptr<Device> device, const EngineOptions& options,
          const engine::ThreadOptions& threads);

    const ForkOrigin origin;
    std::shared_ptr<Device> device;
    const std::unique_ptr<engine::TaskEngine> engine;
    const CpuOptions cpu;
    const PlanKeeps keeps; ///< for the plans of its models
    /// The same engine, if it has several processors; else null.
    coordination::CoordinatedEngine* const coordinated = nullptr;
};

/// Thread safe.
struct Request::State {
    explicit State(std::shared_ptr<Engine::State> engine_) : engine(std::move(engine_)) {}

    /// Throws Error ENOTSUP in a child of fork().
    void require_own_process() const { engine->origin.require("request"); }
    /// Returns null before submit().  Throws Error ENOTSUP in a child of fork().
    std::shared_ptr<engine::SubmittedTask> submitted() const {
        require_own_process();
        const std::lock_guard lock(mutex);
        return task;
    }

    const std::shared_ptr<Engine::State> engine;
    mutable std::mutex mutex;
    std::vector<engine::TaskSegment> segments;
    std::uint64_t model = 0; ///< for events: of the first model that was added
    std::uint64_t cores = 0; ///< cores that may run it, by that model
    std::shared_ptr<engine::RequestMemory> memory = std::make_shared<engine::RequestMemory>();
    std::function<void()> callback;
    std::shared_ptr<engine::SubmittedTask> task;
};

} // namespace overtake
