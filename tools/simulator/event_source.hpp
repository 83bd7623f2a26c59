// SPDX-License-Identifier: MIT
//
// EventSource: a run as the events that a device would report (overtake/event.hpp).
//
// A client is a process, or at FC level a context. Clients are numbered from 1; a client's number
// is also its pid. A model is a class, numbered from 1. A task's tag is its serial number; a job's
// tag is made from it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "overtake/event.hpp"
#include "simulator/simulator.hpp"

namespace overtake::simulator {

/// Returns the tag that distinguishes a task's events from others; for its jobs see job_tag().
inline std::uint64_t task_tag(const LiveTask& task) {
    return task.serial;
}
std::uint64_t job_tag(const LiveTask& task);

class EventSource : public Observer {
public:
    /// `scenario` outlives it; `sink` gets the events in order of time.
    EventSource(const Scenario& scenario, std::function<void(const Event&)> sink);

    void arrived(LiveTask& task, std::uint64_t time) override;
    void dispatched(LiveTask& task, std::uint64_t time) override;
    void ready(LiveTask& task, std::uint64_t time) override;
    void cpu_started(LiveTask& task, std::uint32_t segment, std::uint64_t time,
                     std::uint64_t end) override;
    void cpu_ended(LiveTask& task, std::uint64_t time) override;
    void submitted(LiveTask& task, std::uint32_t segment, std::uint64_t time) override;
    void fc_started(LiveTask& task, unsigned core, bool high, std::uint32_t index,
                    std::uint64_t time, std::uint64_t end) override;
    void fc_ended(LiveTask& task, unsigned core, std::uint64_t time) override;
    void preempted(LiveTask& task, unsigned core, std::uint64_t time) override;
    void job_ended(LiveTask& task, std::uint64_t time) override;
    void limit_changed(unsigned core, std::uint32_t before, std::uint32_t limit,
                       std::uint64_t time) override;
    void overdue(LiveTask& task, std::uint64_t time) override;
    void ended(LiveTask& task, std::uint64_t time) override;

private:
    struct Core {
        Event start;                    ///< the start of the FC that runs
        std::optional<Event> preempted; ///< the job that the next FC preempts
        std::set<std::uint64_t> behind; ///< jobs that were preempted and have not resumed
    };

    std::uint64_t in_ns(std::uint64_t time) const;
    Event event(EventType type, const LiveTask& task, std::uint64_t time) const;
    Event task_event(EventType type, const LiveTask& task, std::uint64_t time) const;
    Event job_event(EventType type, const LiveTask& task, std::uint64_t time) const;

    const Scenario& scenario_;
    std::function<void(const Event&)> sink_;
    std::vector<Core> cores_;
};

} // namespace overtake::simulator
