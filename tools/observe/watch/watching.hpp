// SPDX-License-Identifier: MIT
//
// Watching: the events of a device until a time is over or the user interrupts.
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
    /// Whether pids in events are pids in this PID namespace.
    bool knows_processes = false;
};

/// Raises the limit of open files as far as this process may. For commands, not for libraries.
void raise_descriptor_limit();

/// Forgets the entries of ended processes after events were lost: the events of their ends may be
/// among the lost ones.
class Expiry {
public:
    using Pids = std::vector<std::uint32_t>;

    /// `pids` returns the processes that have entries. `forget` is called with those that have
    /// ended.
    Expiry(const Watched& watched, std::function<Pids()> pids,
           std::function<void(const std::set<std::uint32_t>&)> forget,
           std::chrono::milliseconds interval = std::chrono::seconds(1))
        : watched_(watched), pids_(std::move(pids)), forget_(std::move(forget)),
          interval_(interval) {}

    /// Call rest() regularly: it looks for ended processes once an interval, and only after events
    /// were lost.
    void rest();

private:
    const Watched& watched_;
    std::function<Pids()> pids_;
    std::function<void(const std::set<std::uint32_t>&)> forget_;
    std::chrono::milliseconds interval_;
    EndedProcesses ended_;
    std::chrono::steady_clock::time_point next_look_{};
};

/// Opens the device of this name, as open_device() takes it, or "engines" for engines alone. If
/// wanted, it adds the tasks of engines in processes that use their own queues of tasks. Throws
/// Error for an embedded device: it belongs to one process, and no other process can watch it.
Watched watch_device(const std::string& name, const EngineChoice& engines = {});

/// From now on, SIGINT and SIGTERM end watch(); the second one ends the process.
void stop_on_signals();
/// Ends watch() as a signal does.
void stop() noexcept;

/// Calls `see` for each event until `seconds` are over (0: never), stop() is called, or `see`
/// returns false. `rest` is called when the events so far have been seen, and then regularly.
void watch(EventSource& source, double seconds, const std::function<bool(const Event&)>& see,
           const std::function<void()>& rest = {});

} // namespace overtake::watch
