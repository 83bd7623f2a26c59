// SPDX-License-Identifier: MIT
//
// Scenario: what arrives at a simulated device and how long things take
// (docs/reference/scenarios.md).
//
// All times are in microseconds of virtual time. A Scenario is immutable once read and may be
// shared between threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulator/firmware.hpp"
#include "simulator/jitter.hpp"

namespace overtake::simulator {

enum class Kind { fc, task };

/// The parts of a group on several cores, which go through its stages together.
struct Parts {
    struct Part {
        std::uint32_t core;                ///< from 1; 0: it names none
        std::size_t first;                 ///< its first FC in Chain::Segment::fcs
        std::vector<std::uint32_t> stages; ///< of each of its FCs
    };

    std::vector<Part> list;
    std::vector<std::uint32_t> stage_fcs; ///< FCs of each stage
    std::uint64_t work = 0;               ///< all durations, and a sync for each stage
};

/// The segments of a task's models, one after the other.  At FC level one BPU segment.
struct Chain {
    struct Segment {
        std::vector<std::uint64_t> fcs;          ///< durations; empty for a CPU segment
        std::uint64_t time;                      ///< alone: sum of fcs, or that of a CPU segment
        std::optional<std::uint64_t> estimate{}; ///< the scheduler's estimate of the time
        std::shared_ptr<const Parts> parts{};    ///< fcs are those of one after the other

        std::uint64_t work() const { return parts ? parts->work : time; }
    };

    std::vector<Segment> segments;
    std::vector<ovt_sched_segment> schedule; ///< the segments in the task scheduler's form
    std::uint64_t time = 0;                  ///< of all segments: the latency of a task alone
    std::uint64_t work = 0;                  ///< of all segments and cores
    std::uint32_t width = 0;                 ///< the most parts of a segment; 0: none has any
    /// Compiled models with a plan for several cores: the chain that tasks that name a core run.
    std::shared_ptr<const Chain> on_one_core{};

    void add(Segment segment);
};

/// The properties that tasks of one kind share; statistics are kept for each class.
struct TaskClass {
    std::string name;
    std::optional<std::uint64_t> slo; ///< latency that satisfies
    std::uint64_t isolated = 0;       ///< latency alone; of several, the mean
};

/// The values of a task (or, at FC level, a job) that the schedulers know.
struct TaskKind {
    std::shared_ptr<const Chain> chain;
    std::uint32_t priority = 0;
    std::uint32_t core = 0; ///< from 1; 0: any
    std::int64_t custom_id = 0;
    std::uint32_t process = 0; ///< index into Scenario::processes
    std::uint32_t context = 0; ///< below Scenario::contexts
    std::uint32_t task_class = 0;
    std::optional<std::uint64_t> slo;
};

/// One arrival that the scenario lists.
struct Listed {
    std::string id;
    std::uint64_t at;
    TaskKind kind;
};

struct Cancel {
    std::uint64_t at;
    std::size_t listed; ///< index into Scenario::listed
};

/// A change of a core's limit, which holds once the committed FCs have run.
struct LimitChange {
    std::uint64_t at;
    std::uint32_t core; ///< from 1
    std::uint32_t limit;
};

/// A process's death: from then on none of its tasks arrives, and its CPU segments are not
/// computed.
struct Death {
    std::uint64_t at;
    std::uint32_t process; ///< index into Scenario::processes
};

struct Workers {
    std::uint32_t process; ///< index into Scenario::processes
    std::uint32_t count;
};

enum class Arrivals { periodic, poisson, log_normal, closed_loop, trace };

/// Arrivals that are generated.
struct Load {
    std::string id;
    TaskKind kind;
    Arrivals arrivals;
    std::uint64_t start = 0;            ///< no arrival before
    std::optional<std::uint64_t> count; ///< arrivals in all, dropped ones included
    std::uint64_t until;                ///< no arrival at or after
    std::uint64_t period = 0;           ///< periodic
    std::uint64_t jitter = 0;           ///< periodic: up to so much later, uniformly
    std::uint64_t phase = 0;            ///< periodic: of the first arrival
    double mean = 0;                    ///< poisson, log_normal: between two arrivals
    double sigma = 0;                   ///< log_normal: of the logarithm
    std::uint32_t depth = 1;            ///< closed_loop: tasks at any time
    std::uint64_t think = 0;            ///< closed_loop: between an end and the next arrival
    std::vector<std::uint64_t> trace;   ///< ascending
    std::optional<std::uint32_t>
        max_pending;                      ///< an arrival that finds so many unfinished is dropped
    std::optional<std::uint64_t> timeout; ///< a task not over after this time is cancelled
};

struct Scenario {
    Kind kind;
    std::string name;             ///< empty: none
    std::string description;      ///< empty: none
    std::uint64_t tick_ns = 1000; ///< one unit of its times, in ns
    std::uint32_t cores;
    std::uint64_t sync = 0;                   ///< from a stage's end to the next one elsewhere
    std::vector<std::uint32_t> core_limits;   ///< one per core
    std::vector<LimitChange> limits;          ///< by time, then in file order
    std::vector<std::uint32_t> normal_floors; ///< one per core
    bool fair = false;                        ///< NORMAL takes turns by context
    std::uint32_t contexts = 1;               ///< of the device
    std::vector<std::string> context_names;   ///< at FC level, as far as there are any
    Jitter fc_jitter;
    std::uint64_t dispatch_cost = 0; ///< by which the first FC of a job takes longer

    // Task level only.
    bool service_mode = false;
    ovt_sched_settings settings{}; ///< `workers`: of a process that is not in the list
    std::vector<Workers> workers;
    Jitter cpu_jitter;                  ///< of CPU segments
    std::vector<std::string> processes; ///< in the order in which they first appear

    std::vector<Listed> listed;  ///< in file order
    std::vector<Cancel> cancels; ///< in file order
    std::vector<Death> deaths;   ///< in file order
    std::vector<Load> loads;     ///< in file order
    std::vector<TaskClass> classes;
    std::uint64_t seed = 1;
};

/// Reads the scenario that `document` describes.  Files that it names are relative to `directory`.
/// Throws Error (EINVAL) whose text is one line "PLACE: what is wrong with it".
Scenario parse_scenario(const nlohmann::json& document, const std::filesystem::path& directory);

/// Reads the JSON of a file.  Throws Error with the place of a syntax error.
nlohmann::json read_json(const std::filesystem::path& path);
/// Reads the JSON of a text.
nlohmann::json parse_json(const std::string& text);

} // namespace overtake::simulator
