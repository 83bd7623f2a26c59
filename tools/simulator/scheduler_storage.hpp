// SPDX-License-Identifier: MIT
//
// The memory of the shipped schedulers for a scenario's device. The engine's host decides its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/firmware.hpp"
#include "simulator/scenario.hpp"

namespace overtake::simulator {

/// The storage of the schedulers, which allocate none themselves.
struct Storage {
    static constexpr std::uint32_t command_count = 256;
    static constexpr std::uint32_t event_count = 256;

    explicit Storage(const Scenario& scenario)
        : cores(scenario.cores), core_states(scenario.cores), commands(command_count),
          events(event_count), processes(scenario.processes.size()),
          queues(scenario.service_mode ? 1 : scenario.processes.size()),
          queue_cores(queues.size() * scenario.cores), lines(processes.size() * scenario.cores),
          contexts(scenario.contexts),
          turns(scenario.fair ? scenario.contexts * std::size_t{scenario.cores} : 0) {
        profile.sync_cycles = scenario.sync;
    }

    ovt_profile profile = *ovt_profile_find("ideal"); ///< its cycle is the scenario's tick
    std::vector<ovt_core> cores;
    std::vector<ovt_fw_core> core_states;
    std::vector<ovt_command> commands;
    std::vector<ovt_event> events;
    std::vector<ovt_sched_process> processes;
    std::vector<ovt_sched_queue> queues;
    /// For each core of a queue, then of the next queue.
    std::vector<ovt_sched_queue_core> queue_cores;
    /// For each core of a process, then of the next process.
    std::vector<ovt_sched_line> lines;
    std::vector<ovt_fw_context> contexts;
    std::vector<ovt_fw_turn> turns; ///< for each core of a context, then of the next context
};

} // namespace overtake::simulator
