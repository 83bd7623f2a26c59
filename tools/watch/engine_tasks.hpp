// SPDX-License-Identifier: MIT
//
// EngineTasks: what the USDT probes of engines tell, as events of tasks, and whose job is whose.
// docs/tracing.md has the table of the probes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "overtake/event.hpp"

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
};
inline constexpr std::size_t probe_count = static_cast<std::size_t>(Probe::task_end) + 1;

constexpr std::string_view probe_name(Probe probe) {
    constexpr std::array<std::string_view, probe_count> names{
        "task_arrive",    "task_dispatch", "task_ready", "task_job",
        "task_cpu_start", "task_cpu_done", "task_end"};
    return names[static_cast<std::size_t>(probe)];
}

/// A probe that was passed.
struct ProbeHit {
    Probe probe{};
    std::uint32_t pid = 0;
    std::array<std::uint64_t, 8> arguments{}; ///< those that the probe does not have are zero
};

/// Probes and the driver's or server's events are to come in the order in which they happened in
/// each process.  A process may pass its probes in any order and with any arguments: that spoils
/// what is told of its own tasks, and nothing else.  Memory is that of live tasks and engines, of
/// which a process has so many at most.
class EngineTasks {
public:
    static constexpr std::size_t most_tasks = 1u << 17;
    static constexpr std::size_t most_engines = 1u << 10;

    /// Its event.  None: it says whose the next job is, or is of a task that came before anybody
    /// looked.
    std::optional<Event> event_of(const ProbeHit& hit);
    /// Sets `task`, `segment` and `segment_count` of a job_queue of one of these tasks.  With the
    /// context of an engine go its tasks: their ends, to be seen before the event.
    std::vector<Event> look_at(Event& event);
    /// Those that have tasks or engines.
    std::vector<std::uint32_t> processes() const;
    /// The process is gone: the ends of its tasks.
    std::vector<Event> forget(std::uint32_t pid, std::uint64_t time_ns);
    std::size_t live() const noexcept;

private:
    using Context = std::pair<std::uint64_t, std::uint32_t>; ///< client, context
    struct Task {
        Event told;                       ///< what all events of it have
        std::optional<std::uint64_t> job; ///< announced and not yet queued
        std::optional<Context> context;
    };
    /// By addresses in it.
    struct Process {
        std::map<std::uint64_t, Task> tasks;
        std::map<std::uint64_t, std::uint64_t> jobs; ///< announced: by their tags, their tasks
        std::map<std::uint64_t, std::uint64_t> engines;
    };

    void arrive(Process& process, const ProbeHit& hit);
    static void forget_job(Process& process, std::uint64_t address, Task& task);
    static Event end_of(const Task& task, std::uint64_t time_ns);

    std::map<std::uint32_t, Process> processes_;
    std::uint64_t next_tag_ = 1;
    std::uint64_t next_engine_ = engine_client;
};

} // namespace overtake::watch
