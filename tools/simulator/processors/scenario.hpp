// SPDX-License-Identifier: MIT
//
// A task-level scenario with the key `processors`: networks of units, and several processors of
// different classes behind one coordinator (docs/reference/processors.md).
//
// A scenario does not change once read and may be shared between threads. All times are virtual
// time in units of `tick_ns`: microseconds, or nanoseconds with the time_unit "ns".
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

/// An entry of `processors`: some cores, or one pool of workers.
struct Entry {
    std::string name;
    std::uint32_t class_index;
    std::uint32_t first; ///< number of its first processor
    std::uint32_t count; ///< number of its processors; 1 for a pool
};

/// A core or a pool.
struct Processor {
    std::string name;
    std::uint32_t core = 0; ///< number among the cores, from 1; 0: a pool
    ovt_coord_processor described{};
};

struct Model {
    std::string name;
    std::vector<ovt_coord_unit> units;
    std::uint64_t input_bytes = 0;
    /// By unit and class; for a pool, one time. Empty: the class does not support the unit.
    std::vector<std::vector<std::vector<std::uint64_t>>> fcs;
    std::vector<std::uint64_t> times;           ///< the sums of fcs, [unit * classes + class]
    std::vector<std::uint64_t> longest;         ///< the longest of fcs, likewise
    std::vector<std::uint64_t> measured;        ///< by class; 0: not measured
    std::vector<std::string> classes_in_file{}; ///< the classes of a compiled model's file
};

/// The properties that tasks of one kind share.
struct TaskKind {
    std::uint32_t model = 0;
    std::uint32_t priority = 0;
    std::int64_t custom_id = 0;
    std::uint64_t on = 0; ///< bit q: processor q may run it; 0: all may
    /// The class of the processors of `on`; pools also run units that the class does not support.
    std::uint32_t on_class = 0;
    std::optional<std::uint64_t> slo;
    std::uint32_t task_class = 0;
};

struct Listed {
    std::string id;
    std::uint64_t at;
    TaskKind kind;
};

/// Tasks that arrive by a rule. `kind` and `timeout` of `arrivals` are not used.
struct Generated {
    simulator::Load arrivals;
    TaskKind kind;
};

enum class EventType { fail, recover, throttle };

struct ProcessorEvent {
    std::uint64_t at;
    std::uint32_t processor;
    EventType type;
    std::uint64_t factor; ///< of throttle, in percent
};

struct ProcessorScenario {
    std::string name;
    std::string description;
    std::uint64_t tick_ns = 1000; ///< the scenario's unit of time, in ns
    std::uint64_t seed = 1;
    ovt_coord_settings settings{};
    std::vector<std::string> class_names; ///< the classes of processors
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

/// Returns whether a scenario is of this kind.
bool has_processors(const nlohmann::json& document);

/// Reads a scenario. Throws Error EINVAL, "PLACE: what is wrong with it".
ProcessorScenario parse_processor_scenario(const nlohmann::json& document,
                                           const std::filesystem::path& directory);

} // namespace overtake::simulator::processors
