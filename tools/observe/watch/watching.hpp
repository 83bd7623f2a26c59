// SPDX-License-Identifier: MIT
//
// Watching: events of a device until a time is over or the user interrupts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "observe/watch/ended_processes.hpp"
#include "observe/watch/kernel_source.hpp"
#include "overtake/device.hpp"
#include "overtake/event_source.hpp"

namespace overtake::watch {

struct Watched {
    std::shared_ptr<Device> device; ///< null for a kernel device
    std::unique_ptr<EventSource> events;
    /// Events call processes what they are called here.
    bool knows_processes = false;
};

/// The limit of open files becomes what this process may raise it to: for commands, not libraries.
void raise_descriptor_limit();

/// Where events were lost, an end may have been: what is kept of a process goes with it.
class Expiry {
public:
    using Pids = std::vector<std::uint32_t>;

    /// `pids`: of which processes something is kept; `forget` is called with those that are gone.
    Expiry(const Watched& watched, std::function<Pids()> pids,
           std::function<void(const std::set<std::uint32_t>&)> forget,
           std::chrono::milliseconds interval = std::chrono::seconds(1))
        : watched_(watched), pids_(std::move(pids)), forget_(std::move(forget)),
          interval_(interval) {}

    /// To be called now and then; looks once an interval.
    void rest();

private:
    const Watched& watched_;
    std::function<Pids()> pids_;
    std::function<void(const std::set<std::uint32_t>&)> forget_;
    std::chrono::milliseconds interval_;
    EndedProcesses ended_;
    std::chrono::steady_clock::time_point next_look_{};
};

/// The device of this name, as open_device() takes it; if wanted also the tasks of engines, of
/// processes that use their own queues of tasks.  Throws Error: an embedded device is one process's
/// own, and cannot be watched by another.
Watched watch_device(const std::string& name, const EngineChoice& engines = {});

/// SIGINT and SIGTERM end watch() from now on; the second one ends the process.
void stop_on_signals();
/// As a signal would.
void stop() noexcept;

/// Calls `see` for each event, until `seconds` are over (0: never), stop() is called, or `see`
/// returns false.  `rest`: called now and then, when there is none at the moment.
void watch(EventSource& source, double seconds, const std::function<bool(const Event&)>& see,
           const std::function<void()>& rest = {});

} // namespace overtake::watch
