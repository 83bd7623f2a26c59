// SPDX-License-Identifier: MIT
//
// A task-level scenario with the key `processors`: networks of units, and several processors of
// different classes behind one coordinator (docs/reference/processors.md).
//
// Immutable once read; may be shared between threads.  All times are in microseconds of virtual
// time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulator/scenario.hpp"

extern "C" {
#include "sched/coord/coord.h"
}

namespace overtake::simulator::processors {

/// A line of `processors`: some cores, or one pool of workers.
struct Entry {
    std::string name;
    std::uint32_t class_index;
    std::uint32_t first; ///< of its processors
    std::uint32_t count; ///< of its processors: 1 of a pool
};

/// A core or a pool.
struct Processor {
    std::string name;
    std::uint32_t core = 0; ///< among the cores, from 1; 0: a pool
    ovt_coord_processor described{};
};

struct Model {
    std::string name;
    std::vector<ovt_coord_unit> units;
    std::uint64_t input_bytes = 0;
    /// By unit and class; of a pool one time.  Empty: the class does not support the unit.
    std::vector<std::vector<std::vector<std::uint64_t>>> fcs;
    std::vector<std::uint64_t> times;           ///< their sums, [unit * classes + class]
    std::vector<std::uint64_t> longest;         ///< the longest of them, the same
    std::vector<std::uint64_t> measured;        ///< by class; 0: not measured
    std::vector<std::string> classes_in_file{}; ///< of a compiled one
};

/// The properties that tasks of one sort share.
struct TaskKind {
    std::uint32_t model = 0;
    std::uint32_t priority = 0;
    std::int64_t custom_id = 0;
    std::uint64_t on = 0; ///< bit q: processor q may run it; 0: each may
    std::uint32_t on_class = 0;
    std::optional<std::uint64_t> slo;
    std::uint32_t task_class = 0;
};

struct Listed {
    std::string id;
    std::uint64_t at;
    TaskKind kind;
};

/// Tasks that arrive by a rule; of `arrivals` all but `kind` counts.
struct Generated {
    simulator::Load arrivals;
    TaskKind kind;
};

enum class EventType { fail, recover, throttle };

struct ProcessorEvent {
    std::uint64_t at;
    std::uint32_t processor;
    EventType type;
    std::uint64_t factor; ///< percent, of throttle
};

struct ProcessorScenario {
    std::string name;
    std::string description;
    std::uint64_t tick_ns = 1000; ///< one unit of its times, in ns
    std::uint64_t seed = 1;
    ovt_coord_settings settings{};
    std::vector<std::string> class_names; ///< of processors
    std::vector<Entry> entries;
    std::vector<Processor> processors;
    std::uint32_t cores = 0;
    std::vector<std::uint64_t> rates; ///< [entry * entries + entry]; 0: a move costs nothing
    std::vector<Model> models;
    std::vector<Listed> listed;             ///< in file order
    std::vector<Generated> loads;           ///< in file order
    std::vector<simulator::Cancel> cancels; ///< by time, then in file order
    std::vector<ProcessorEvent> events;     ///< by time, then in file order
    std::vector<std::string> task_classes;
};

/// Whether a scenario is of this kind.
bool has_processors(const nlohmann::json& document);

/// Throws Error EINVAL, "PLACE: what is wrong with it".
ProcessorScenario parse_processor_scenario(const nlohmann::json& document,
                                           const std::filesystem::path& directory);

} // namespace overtake::simulator::processors
