// SPDX-License-Identifier: MIT
//
// A task of a scenario as a board program submits it: BPU segments are programs that wait, CPU
// segments a custom operator that takes its time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "dnn/hb_dnn.h"
#include "overtake/device.hpp"
#include "overtake/engine.hpp"
#include "task_scenario.hpp"

namespace overtake::test {

inline constexpr std::uint64_t ns_per_us = 1000;

/// A CPU segment of a scenario: task and segment.
struct CpuKey {
    std::uint64_t task;
    std::uint64_t segment;
    auto operator<=>(const CpuKey&) const = default;
};

/// CPU segments under way, of all processes in this one.
class ModelledWork {
public:
    static ModelledWork& only() {
        static auto* work = new ModelledWork;
        return *work;
    }

    /// Called by a worker; returns when end() is called for the segment.
    void take_place(CpuKey key) {
        std::unique_lock lock(mutex_);
        under_way_.insert(key);
        changed_.notify_all();
        changed_.wait(lock, [&] { return !under_way_.contains(key); });
    }
    void wait_for(CpuKey key) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return under_way_.contains(key); });
    }
    void end(CpuKey key) {
        const std::lock_guard lock(mutex_);
        under_way_.erase(key);
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<CpuKey> under_way_;
};

/// The time of a CPU segment: until ModelledWork ends it, or its time on the host's clock.
enum class CpuTime { modelled, real };

/// Makes the engine of process `number` with the scenario's settings; its jobs differ from those of
/// other processes by their tags.  With modelled time the caller steps the engine.
std::unique_ptr<Engine> scenario_engine(const std::shared_ptr<Device>& device,
                                        const TaskScenario& scenario, std::uint64_t number,
                                        CpuTime cpu_time);

/// A model with memory for one inference.
struct LoadedSegments {
    hbDNNHandle_t model = nullptr;
    hbDNNTensor input{}, output{};
};

/// Loads segments first..last - 1 of task `number` in this thread's dnn::Process.  The model's
/// expected time of a CPU segment is its estimate in `task`, or else its time.  Throws Error, as
/// the next two do, if a function of the interface fails.
LoadedSegments load_segments(const ScenarioTask& task, std::size_t number, std::size_t first,
                             std::size_t last, CpuTime cpu_time);

/// Adds an inference to the task.  With `more` the task stays open.
void infer(hbDNNTaskHandle_t* handle, LoadedSegments& of, const ScenarioTask& task, bool more);

/// Submits task `number` from this thread's dnn::Process; some tasks are of two models.
hbDNNTaskHandle_t submit_task(const TaskScenario& scenario, std::size_t number, CpuTime cpu_time);

/// Throws Error unless `status`, of the function `what`, is 0.
void require_ok(std::int32_t status, const char* what);

} // namespace overtake::test
