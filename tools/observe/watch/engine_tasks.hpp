// SPDX-License-Identifier: MIT
//
// EngineTasks: turns hits of the USDT probes of engines into events of tasks, and finds the task of
// each job. docs/reference/tracepoints.md has the table of the probes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "overtake/event.hpp"
#include "overtake_accel.h"

namespace overtake::watch {

/// A probe of an engine (provider `overtake`) that is read here.
enum class Probe : std::uint8_t {
    task_arrive,
    task_dispatch,
    task_ready,
    task_job,
    task_cpu_start,
    task_cpu_done,
    task_end,
    // Probes of engines with several processors; processor_probes.hpp reads them.
    processor,
    request_arrive,
    request_work,
    request_worked,
    run_dispatch,
    run_end,
    request_end,
};
inline constexpr std::size_t probe_count = static_cast<std::size_t>(Probe::request_end) + 1;
inline constexpr Probe first_processor_probe = Probe::processor;
/// The most arguments that a probe has.
inline constexpr std::size_t most_probe_arguments = 12;

constexpr std::string_view probe_name(Probe probe) {
    constexpr std::array<std::string_view, probe_count> names{
        "task_arrive",    "task_dispatch", "task_ready", "task_job",       "task_cpu_start",
        "task_cpu_done",  "task_end",      "processor",  "request_arrive", "request_work",
        "request_worked", "run_dispatch",  "run_end",    "request_end"};
    return names[static_cast<std::size_t>(probe)];
}

/// One hit of a probe.
struct ProbeHit {
    Probe probe{};
    std::uint32_t pid = 0;
    std::array<std::uint64_t, most_probe_arguments> arguments{}; ///< missing arguments are zero
};

/// The hits of a process must come in the order in which it passed the probes, and the announcement
/// of a job before the driver's or server's job_queue. The time between the two does not matter,
/// because no two jobs of a process's engines have the same tag.
///
/// The events of an engine are reported once a job of the engine has been seen on this source's
/// device: before that job, it is not known whether the engine uses the device.
///
/// A process may pass its probes in any order and with any arguments: this spoils only the events
/// of its own tasks. Memory is bounded for each process and for all processes together. Beyond
/// most_entries, processes of which no job was seen are forgotten, the largest first. Then, again
/// the largest first, processes with more than 1/64 of most_entries lose the older half of their
/// entries, and smaller ones are forgotten.
class EngineTasks {
public:
    /// Tasks, engines, jobs, events and names of all processes: about 300 bytes each.
    static constexpr std::size_t most_entries = 1u << 17;
    // Limits for one process:
    static constexpr std::size_t most_tasks = 1u << 16;
    static constexpr std::size_t most_engines = 1u << 10;
    static constexpr std::size_t most_models = 1u << 10; ///< models that have a name
    /// Jobs that are announced and not queued yet; the oldest are forgotten.
    static constexpr std::size_t most_jobs = 1u << 16;
    /// Events of engines of which no job was seen yet. Beyond this number, the held events of the
    /// engine that has the next event are dropped.
    static constexpr std::size_t most_held = 1u << 12;

    /// Returns the events of a hit. There are none if the hit announces a job, if its task came
    /// before the first event, or if no job of its engine was seen.
    std::vector<Event> events_of(const ProbeHit& hit);
    /// Sets `task`, `segment` and `segment_count` of a job_queue of one of these tasks. Returns the
    /// events to report before `event`: the job's engine's events that were held back, or, when the
    /// context of an engine is destroyed, the ends of its tasks.
    std::vector<Event> look_at(Event& event);
    /// Returns the processes that have tasks or engines.
    std::vector<std::uint32_t> processes() const;
    /// Forgets a process, which has ended. Returns the ends of its tasks.
    std::vector<Event> forget(std::uint32_t pid, std::uint64_t time_ns);
    std::size_t live() const noexcept;
    /// Returns how many tasks were refused: their arguments are impossible, or their process has
    /// too many tasks.
    std::uint64_t refused() const noexcept { return refused_; }
    /// Returns how many tasks and announced jobs were forgotten to make room for others.
    std::uint64_t dropped() const noexcept { return dropped_; }
    /// Returns the number of entries that are kept now, as most_entries counts them.
    std::size_t entries() const noexcept { return entries_; }

private:
    using Context = std::pair<std::uint64_t, std::uint32_t>; ///< client, context
    struct Engine {
        std::uint64_t client;
        std::size_t live = 0;
        bool is_here = false;      ///< one of its jobs was seen
        std::vector<Event> held{}; ///< its events until then
    };
    struct Task {
        Event told;           ///< the fields that all events of the task have
        std::uint64_t engine; ///< the engine's address
        std::optional<Context> context;
    };
    struct Announced {
        std::uint64_t task; ///< the task's tag
        std::uint64_t address;
        std::uint64_t engine;
        std::uint32_t segment;
        std::uint32_t segment_count;
        std::uint64_t cores; ///< cores that the task takes, one bit each; 0: one core
    };
    /// The data that is kept of a process, by addresses in it.
    struct Process {
        std::map<std::uint64_t, Task> tasks;
        std::map<std::uint64_t, Engine> engines;
        std::map<std::uint64_t, Announced> jobs;               ///< by their tags
        std::deque<std::uint64_t> announced;                   ///< tags, the oldest first
        std::map<Context, std::set<std::uint64_t>> in_context; ///< addresses of tasks
        std::set<std::uint64_t> models;
        std::size_t held = 0; ///< events of all engines
        bool is_here = false; ///< a job of one of the engines was seen on this device

        std::size_t entries() const;
    };
    using Processes = std::map<std::uint32_t, Process>;

    void make_room(std::vector<Event>& events);
    void halve(Process& process, std::vector<Event>& events);
    std::vector<Event> forget(Processes::iterator process, std::uint64_t time_ns);
    /// Ends a task whose real end is not reported. The end is reported if the task's engine is.
    static void cut_off(Process& process, std::map<std::uint64_t, Task>::iterator task,
                        std::uint64_t time_ns, std::vector<Event>& events);
    static void forget_claimed(Process& process);
    void pass(Process& process, const ProbeHit& hit, std::vector<Event>& events);

    static void tell(Process& process, Engine& engine, const Event& event,
                     std::vector<Event>& events);
    static void erase(Process& process, std::map<std::uint64_t, Task>::iterator task);
    static Event end_of(const Task& task, std::uint64_t time_ns);
    static std::uint64_t named_model(Process& process, std::uint64_t model);
    Engine* engine_at(Process& process, std::uint64_t address);
    void arrive(Process& process, const ProbeHit& hit, std::vector<Event>& events);
    static void announce(Process& process, const Task& task, const ProbeHit& hit);
    static std::vector<Event> claim(Process& process, Event& job);

    Processes processes_;
    std::size_t entries_ = 0;
    std::uint64_t next_tag_ = 1;
    std::uint64_t next_engine_ = engine_client;
    std::uint64_t refused_ = 0;
    std::uint64_t dropped_ = 0;
};

} // namespace overtake::watch
