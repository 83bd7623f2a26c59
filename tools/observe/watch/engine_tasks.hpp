// SPDX-License-Identifier: MIT
//
// EngineTasks: what the USDT probes of engines tell, as events of tasks, and whose job is whose.
// docs/reference/tracepoints.md has the table of the probes.
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

/// Of an engine, provider `overtake`, that is looked at here.
enum class Probe : std::uint8_t {
    task_arrive,
    task_dispatch,
    task_ready,
    task_job,
    task_cpu_start,
    task_cpu_done,
    task_end,
    // Of engines with several processors: processor_probes.hpp has what they say.
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
/// The most that one has.
inline constexpr std::size_t most_probe_arguments = 12;

constexpr std::string_view probe_name(Probe probe) {
    constexpr std::array<std::string_view, probe_count> names{
        "task_arrive",    "task_dispatch", "task_ready", "task_job",       "task_cpu_start",
        "task_cpu_done",  "task_end",      "processor",  "request_arrive", "request_work",
        "request_worked", "run_dispatch",  "run_end",    "request_end"};
    return names[static_cast<std::size_t>(probe)];
}

/// A probe that was passed.
struct ProbeHit {
    Probe probe{};
    std::uint32_t pid = 0;
    std::array<std::uint64_t, most_probe_arguments>
        arguments{}; ///< those that the probe does not have are zero
};

/// The probes of a process are to come in the order in which it passed them, and the announcement
/// of a job before the driver's or server's job_queue; how far ahead they are does not matter, for
/// no two jobs of a process's engines are called the same.
///
/// The events of an engine are reported from its first job on that is one of the source's: before,
/// it is not known whether the engine uses this device.
///
/// A process may pass its probes in any order and with any arguments: that spoils the events of
/// its own tasks, and nothing else.  Memory is bounded, for each process and for all of them
/// together: beyond most_entries, processes of which no job was seen are forgotten, the largest
/// first; then the largest of the others lose the older half of what is kept.
class EngineTasks {
public:
    /// Tasks, engines, jobs, events and names of all processes: some 300 bytes each.
    static constexpr std::size_t most_entries = 1u << 17;
    // Of one process:
    static constexpr std::size_t most_tasks = 1u << 16;
    static constexpr std::size_t most_engines = 1u << 10;
    static constexpr std::size_t most_models = 1u << 10; ///< that have a name
    /// Announced, and not queued yet; the oldest are forgotten.
    static constexpr std::size_t most_jobs = 1u << 16;
    /// Events of engines of which no job was seen yet; those of an engine that has more come too
    /// early to be reported.
    static constexpr std::size_t most_held = 1u << 12;

    /// Its events.  None: it announces the next job, is of a task that came before the first
    /// event, or of an engine of which no job was seen.
    std::vector<Event> events_of(const ProbeHit& hit);
    /// Sets `task`, `segment` and `segment_count` of a job_queue of one of these tasks.  Returns
    /// what is to be seen before the event: what was held back of its engine; and with the context
    /// of an engine go its tasks, so their ends.
    std::vector<Event> look_at(Event& event);
    /// Those that have tasks or engines.
    std::vector<std::uint32_t> processes() const;
    /// The process is gone: the ends of its tasks.
    std::vector<Event> forget(std::uint32_t pid, std::uint64_t time_ns);
    std::size_t live() const noexcept;
    /// Tasks that were not taken, because they make no sense or their process has too many.
    std::uint64_t refused() const noexcept { return refused_; }
    /// Tasks and announced jobs that were forgotten to make room for others.
    std::uint64_t dropped() const noexcept { return dropped_; }
    /// What is kept now, as most_entries counts it.
    std::size_t entries() const noexcept { return entries_; }

private:
    using Context = std::pair<std::uint64_t, std::uint32_t>; ///< client, context
    struct Engine {
        std::uint64_t client;
        std::size_t live = 0;
        bool is_here = false;      ///< one of its jobs was seen
        std::vector<Event> held{}; ///< until then
    };
    struct Task {
        Event told;           ///< what all events of it have
        std::uint64_t engine; ///< its address
        std::optional<Context> context;
    };
    struct Announced {
        std::uint64_t task; ///< its tag
        std::uint64_t address;
        std::uint64_t engine;
        std::uint32_t segment;
        std::uint32_t segment_count;
        std::uint64_t cores; ///< that the task takes, one bit each; 0: one
    };
    /// By addresses in it.
    struct Process {
        std::map<std::uint64_t, Task> tasks;
        std::map<std::uint64_t, Engine> engines;
        std::map<std::uint64_t, Announced> jobs;               ///< by their tags
        std::deque<std::uint64_t> announced;                   ///< tags, the oldest first
        std::map<Context, std::set<std::uint64_t>> in_context; ///< addresses of tasks
        std::set<std::uint64_t> models;
        std::size_t held = 0; ///< events of all engines
        bool is_here = false; ///< one of them was seen on this device

        std::size_t entries() const;
    };
    using Processes = std::map<std::uint32_t, Process>;

    void make_room(std::vector<Event>& events);
    void halve(Process& process, std::vector<Event>& events);
    std::vector<Event> forget(Processes::iterator process, std::uint64_t time_ns);
    /// Ends the task, whose real end is not reported, as far as its engine is.
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
