// SPDX-License-Identifier: MIT
//
// overtake run --service and --processors: runs samples through an engine.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "overtake/engine.hpp"
#include "processor_options.hpp"

namespace overtake::command {

/// Runs samples through an engine and returns their outputs in the order of submission.
class EngineRun {
public:
    /// Throws Error, as Engine does.
    EngineRun(const std::shared_ptr<Device>& device, std::shared_ptr<const Model> model,
              const TaskOptions& task, const EngineOptions& options,
              const ProcessorArguments& processors);

    std::size_t in_flight() const noexcept { return running_.size(); }
    /// Submits a sample. It has the values of each input, which must stay until the sample has
    /// ended.
    void submit(const std::vector<std::span<const float>>& sample);
    /// Waits for the oldest sample and calls `take` for each of its outputs. Throws Error if the
    /// sample failed.
    void collect(const std::function<void(std::size_t output, std::span<const float>)>& take);

private:
    struct Running {
        std::shared_ptr<Request> request;
        std::vector<std::vector<float>> outputs;
    };

    const std::shared_ptr<const Model> model_;
    const TaskOptions task_;
    Engine engine_;
    const std::shared_ptr<LoadedModel> loaded_;
    std::deque<Running> running_; ///< oldest first
};

} // namespace overtake::command
