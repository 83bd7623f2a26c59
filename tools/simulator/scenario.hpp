// SPDX-License-Identifier: MIT
//
// Scenario: the tasks that arrive at a simulated device, and their times
// (docs/reference/scenarios.md).
//
// All times are virtual time in units of Scenario::tick_ns: microseconds, or nanoseconds with the
// time_unit "ns". A Scenario does not change once read and may be shared between threads.
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
        std::uint32_t core;                ///< from 1; 0: the part names none
        std::size_t first;                 ///< index of its first FC in Chain::Segment::fcs
        std::vector<std::uint32_t> stages; ///< the stage of each of its FCs
    };

    std::vector<Part> list;
    std::vector<std::uint32_t> stage_fcs; ///< FCs of each stage
    std::uint64_t work = 0;               ///< all durations, and a sync for each stage
};

/// The segments of a task's models, one after the other; at FC level, one BPU segment.
struct Chain {
    struct Segment {
        std::vector<std::uint64_t> fcs; ///< durations; empty for a CPU segment
        /// The time alone: the sum of fcs, or the time of a CPU segment.
        std::uint64_t time;
        std::optional<std::uint64_t> estimate{}; ///< the scheduler's estimate of the time
        /// Null: no parts; otherwise, fcs has the FCs of one part after the other.
        std::shared_ptr<const Parts> parts{};

        std::uint64_t work() const { return parts ? parts->work : time; }
    };

    std::vector<Segment> segments;
    std::vector<ovt_sched_segment> schedule; ///< the segments in the task scheduler's form
    std::uint64_t time = 0;                  ///< of all segments: the latency of a task alone
    std::uint64_t work = 0;                  ///< the work of all segments and cores
    /// The most parts that a segment has; 0: no segment has any.
    std::uint32_t width = 0;
    /// For compiled models with a plan for several cores: the chain of tasks that name a core.
    std::shared_ptr<const Chain> on_one_core{};

    void add(Segment segment);
};

/// The properties that tasks of one class share; statistics are kept for each class.
struct TaskClass {
    std::string name;
    std::optional<std::uint64_t> slo; ///< the latency that is to be met
    std::uint64_t isolated = 0;       ///< latency alone; for several kinds, the mean
};

/// The values of a task (or, at FC level, of a job) that the schedulers know.
struct TaskKind {
    std::shared_ptr<const Chain> chain;
    std::uint32_t priority = 0;
    std::uint32_t core = 0; ///< from 1; 0: any
    std::int64_t custom_id = 0;
    std::uint32_t process = 0; ///< index into Scenario::processes
    std::uint32_t context = 0; ///< less than Scenario::contexts
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

/// A change of a core's limit, which takes effect once the committed FCs have run.
struct LimitChange {
    std::uint64_t at;
    std::uint32_t core; ///< from 1
    std::uint32_t limit;
};

/// The death of a process: from then on no task of the process arrives, and its CPU segments are
/// not computed.
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
    std::uint64_t start = 0;            ///< there is no arrival before it
    std::optional<std::uint64_t> count; ///< all arrivals, including dropped ones
    std::uint64_t until;                ///< there is no arrival at it or after it
    std::uint64_t period = 0;           ///< periodic
    /// periodic: an arrival is up to this time later, uniformly.
    std::uint64_t jitter = 0;
    std::uint64_t phase = 0;          ///< periodic: the phase of the first arrival
    double mean = 0;                  ///< poisson, log_normal: the mean time between two arrivals
    double sigma = 0;                 ///< log_normal: sigma of the logarithm
    std::uint32_t depth = 1;          ///< closed_loop: the most tasks at any time
    std::uint64_t think = 0;          ///< closed_loop: time from an end to the next arrival
    std::vector<std::uint64_t> trace; ///< ascending
    /// An arrival that finds this many tasks unfinished is dropped.
    std::optional<std::uint32_t> max_pending;
    /// A task that has not ended after this time is cancelled.
    std::optional<std::uint64_t> timeout;
};

struct Scenario {
    Kind kind;
    std::string name;             ///< empty: none
    std::string description;      ///< empty: none
    std::uint64_t tick_ns = 1000; ///< the scenario's unit of time, in ns
    std::uint32_t cores;
    /// Time from a stage's end to the next stage on other cores.
    std::uint64_t sync = 0;
    std::vector<std::uint32_t> core_limits;   ///< one for each core
    std::vector<LimitChange> limits;          ///< by time, then in file order
    std::vector<std::uint32_t> normal_floors; ///< one for each core
    bool fair = false;                        ///< NORMAL contexts take turns
    std::uint32_t contexts = 1;               ///< contexts of the device
    std::vector<std::string> context_names;   ///< at FC level; empty at task level
    Jitter fc_jitter;
    std::uint64_t dispatch_cost = 0; ///< the first FC of a job takes longer by it

    // Task level only.
    bool service_mode = false;
    ovt_sched_settings settings{}; ///< `workers` is for processes that are not in the list below
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

/// Reads the scenario that `document` describes. Files that it names are relative to `directory`.
/// Throws Error (EINVAL) whose text is one line "PLACE: what is wrong with it".
Scenario parse_scenario(const nlohmann::json& document, const std::filesystem::path& directory);

/// Reads the JSON of a file.  Throws Error with the place of a syntax error.
nlohmann::json read_json(const std::filesystem::path& path);
/// Reads the JSON of a text.
nlohmann::json parse_json(const std::string& text);

} // namespace overtake::simulator
