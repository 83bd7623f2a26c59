// SPDX-License-Identifier: MIT
//
// A process of a scenario, run as a board program: its tasks go through the C interface, BPU
// segments are programs that wait, CPU segments a custom operator that takes modelled time.  The
// driver of the scenario steps its engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "board_task.hpp"
#include "overtake/device.hpp"
#include "overtake/engine.hpp"
#include "task_scenario.hpp"

namespace overtake::test {

/// The result of a task.
struct TaskOutcome {
    std::int32_t status;
    unsigned core;
    std::uint64_t dispatched_ns;
    std::uint64_t ended_ns;
    std::vector<SegmentRecord> segments;
};

class BoardProcess {
public:
    virtual ~BoardProcess() = default;
    // The calls of one instant, in the order of the contract.

    /// Ends these CPU segments.
    virtual void end_cpu(const std::vector<CpuKey>& segments) = 0;
    virtual void gather() = 0;
    /// Returns when the first of the ended tasks that are still to be handled was dispatched.
    virtual std::optional<std::uint64_t> first_end() = 0;
    virtual void handle_first_end() = 0;
    virtual void arrive(std::size_t task) = 0;
    virtual void cancel(std::size_t task) = 0;
    /// Dispatches, and returns the CPU segments that begin now.
    virtual std::vector<CpuKey> dispatch() = 0;

    virtual TaskOutcome outcome(std::size_t task) = 0;
};

/// Makes process `number` of the scenario inside this process.  The device has a manual clock.
std::unique_ptr<BoardProcess> local_process(std::shared_ptr<Device> device,
                                            const TaskScenario& scenario, std::uint64_t number);

/// Makes process `number` of the scenario as a process of its own, which opens the device itself.
/// Throws Error if it does not start; its functions throw Error if it has ended.
std::unique_ptr<BoardProcess> forked_process(const std::function<std::shared_ptr<Device>()>& open,
                                             const TaskScenario& scenario, std::uint64_t number);

} // namespace overtake::test
