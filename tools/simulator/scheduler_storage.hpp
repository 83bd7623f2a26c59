// SPDX-License-Identifier: MIT
//
// The memory of the shipped schedulers for a scenario's device, of a size that the engine's host
// decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/firmware.hpp"
#include "simulator/scenario.hpp"

namespace overtake::simulator {

/// Storage of the schedulers, which allocate none themselves.
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

    ovt_profile profile = *ovt_profile_find("ideal"); ///< its cycle is our tick
    std::vector<ovt_core> cores;
    std::vector<ovt_fw_core> core_states;
    std::vector<ovt_command> commands;
    std::vector<ovt_event> events;
    std::vector<ovt_sched_process> processes;
    std::vector<ovt_sched_queue> queues;
    std::vector<ovt_sched_queue_core> queue_cores; ///< of a queue for each core, then of the next
    std::vector<ovt_sched_line> lines;             ///< of a process for each core, then the next
    std::vector<ovt_fw_context> contexts;
    std::vector<ovt_fw_turn> turns; ///< of a context on each core, then of the next
};

} // namespace overtake::simulator
