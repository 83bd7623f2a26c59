// SPDX-License-Identifier: MIT
//
// A fuzz case: a device, the commands of its clients, and the faults of its host. Times are in
// ticks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulator/firmware.hpp"

namespace overtake::fuzz {

constexpr std::uint32_t longest_fc = 64; ///< ticks

enum class FcKind { good, bad_instruction, stuck };

struct Fc {
    FcKind kind;
    std::uint32_t duration; ///< of an FC without a fault
};

/// The FCs of a segment, or no FC and a CPU time.
struct Segment {
    std::vector<Fc> fcs;
    std::uint64_t cpu;
    std::uint64_t estimate = 0; ///< CPU time for the scheduler; 0: the true one

    std::uint64_t estimated_cpu() const { return estimate != 0 ? estimate : cpu; }
};

struct Model {
    std::vector<Segment> segments;
};

enum class CommandType { submit, cancel, kill, reset, limit, floor, wait, hold, release };

struct Command {
    CommandType type = CommandType::wait;
    std::uint64_t after = 0; ///< ticks since the command before
    std::uint32_t model = 0; ///< submit
    std::uint32_t priority = 0;
    std::int64_t custom_id = 0;
    std::uint64_t slo = 0;     ///< submit of a task: ticks to its deadline; 0: it has none
    std::uint32_t core = 0;    ///< submit: 0 is any; reset, limit, floor: from 1
    std::uint32_t process = 0; ///< submit, kill
    std::uint32_t target = 0;  ///< cancel: number of an earlier submit
    std::uint32_t value = 0;   ///< limit, floor
};

/// Faults of the host. Its random choices have a seed, so that a run can be repeated.
struct Faults {
    std::uint64_t seed = 0;
    std::uint32_t latency_max = 0;       ///< most ticks that an interrupt is late
    std::uint32_t lost_percent = 0;      ///< of the interrupts
    std::uint32_t duplicate_percent = 0; ///< of the interrupts
};

/// Returns the usual settings of a process's own queue, with 0 for every time and its factor.
ovt_sched_settings without_times();

struct Case {
    bool task_level = false;
    ovt_mode mode = OVT_MODE_TIMED;
    std::vector<std::uint32_t> core_limits; ///< one for each core
    bool fair = false;                      ///< each process is a context
    std::uint64_t watchdog = 0;             ///< cycles
    std::uint32_t command_count = 0;        ///< size of the device's command queue; a power of two
    std::uint32_t event_count = 0;          ///< size of its event queue; a power of two
    std::uint32_t processes = 1;
    // Task level.
    bool service_mode = false;
    ovt_sched_settings settings = without_times();

    std::vector<Model> models;
    std::vector<Command> commands;
    Faults faults;

    std::uint32_t cores() const { return static_cast<std::uint32_t>(core_limits.size()); }
};

/// Returns the case of a seed, which is the same on every machine.
Case draw(std::uint64_t seed, unsigned commands);

nlohmann::ordered_json to_json(const Case& fuzz_case);
/// Throws Error (EINVAL), "PLACE: FAULT", for values that to_json() does not write or that a host
/// cannot carry out.
Case from_json(const nlohmann::json& json);

} // namespace overtake::fuzz
