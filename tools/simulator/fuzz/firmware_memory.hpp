// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "simulator/fuzz/case.hpp"

namespace overtake::fuzz {

/// The firmware of a case's device, and all memory that it works in.
struct Firmware {
    explicit Firmware(const Case& of)
        : cores(of.cores()), core_states(of.cores()), commands(of.command_count),
          events(of.event_count) {
        const ovt_fw_config config = {
            .profile = ovt_profile_find("ideal"), // a cycle is a nanosecond is a tick
            .mode = of.mode,
            .core_count = of.cores(),
            .fair = of.fair,
            .quota_ns = 0,
            .watchdog_cycles = of.watchdog,
            .clock = {}, // nobody waits for this host
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

} // namespace overtake::fuzz
