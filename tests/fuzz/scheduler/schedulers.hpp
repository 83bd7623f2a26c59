// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "scheduler/case.hpp"

namespace overtake::fuzz {

/// The firmware of a case's device, and all memory that it works in.
struct Firmware {
    explicit Firmware(const Case& of)
        : cores(of.cores()), core_states(of.cores()), commands(of.command_count),
          events(of.event_count) {
        const ovt_fw_config config = {
            .profile = ovt_profile_find("ideal"), // a cycle takes a nanosecond, which is a tick
            .mode = of.mode,
            .core_count = of.cores(),
            .fair = of.fair,
            .quota_ns = 0,
            .watchdog_cycles = of.watchdog,
            .clock = {}, // the host has no clock for FCs
            .lag_max_ns = 0,
            .stretch_max_ns = 0,
            .cores = cores.data(),
            .core_states = core_states.data(),
            .commands = commands.data(),
            .command_count = of.command_count,
            .events = events.data(),
            .event_count = of.event_count,
        };
        ovt_fw_init(&fw, &config);
    }
    Firmware(const Firmware&) = delete;
    Firmware& operator=(const Firmware&) = delete;

    std::vector<ovt_core> cores;
    std::vector<ovt_fw_core> core_states;
    std::vector<ovt_command> commands;
    std::vector<ovt_event> events;
    ovt_fw fw;
};

/// The task scheduler of a case, and all memory that it works in.
struct TaskScheduler {
    TaskScheduler() = default;
    TaskScheduler(const TaskScheduler&) = delete;
    TaskScheduler& operator=(const TaskScheduler&) = delete;

    void start(const Case& of) {
        ovt_sched_init(&sched, of.cores(), &of.settings);
        queues.resize(of.service_mode ? 1 : of.processes);
        queue_cores.resize(queues.size() * of.cores());
        for (std::size_t i = 0; i < queues.size(); i++)
            ovt_sched_add_queue(&sched, &queues[i], &queue_cores[i * of.cores()]);
        processes.resize(of.processes);
        lines.resize(processes.size() * of.cores());
        for (std::size_t i = 0; i < processes.size(); i++)
            ovt_sched_add_process(&sched, &processes[i], &queues[of.service_mode ? 0 : i],
                                  &lines[i * of.cores()]);
    }

    ovt_sched sched;
    std::deque<ovt_sched_queue> queues;
    std::vector<ovt_sched_queue_core> queue_cores; ///< of a queue for each core, then of the next
    std::deque<ovt_sched_process> processes;
    std::vector<ovt_sched_line> lines; ///< of a process for each core, then of the next
};

} // namespace overtake::fuzz
