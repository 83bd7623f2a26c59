// SPDX-License-Identifier: MIT
//
// A process of a scenario, as a board program is one: its tasks go through the C interface, BPU
// segments are programs that wait, CPU segments a custom operator that takes modelled time.  Its
// engine is stepped by the driver of the scenario.
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

/// What became of a task.
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
    // One instant, in the order of the contract.

    /// These CPU segments are over now.
    virtual void end_cpu(const std::vector<CpuKey>& segments) = 0;
    virtual void gather() = 0;
    /// When the first of those that have ended and are to be handled was dispatched.
    virtual std::optional<std::uint64_t> first_end() = 0;
    virtual void handle_first_end() = 0;
    virtual void arrive(std::size_t task) = 0;
    virtual void cancel(std::size_t task) = 0;
    /// The CPU segments that begin now.
    virtual std::vector<CpuKey> dispatch() = 0;

    virtual TaskOutcome outcome(std::size_t task) = 0;
};

/// Number `number` of the scenario, in this process.  The device has a manual clock.
std::unique_ptr<BoardProcess> local_process(std::shared_ptr<Device> device,
                                            const TaskScenario& scenario, std::uint64_t number);

/// The same in a process of its own, which opens the device itself.  Throws Error where that says
/// so.
std::unique_ptr<BoardProcess> forked_process(const std::function<std::shared_ptr<Device>()>& open,
                                             const TaskScenario& scenario, std::uint64_t number);

} // namespace overtake::test
