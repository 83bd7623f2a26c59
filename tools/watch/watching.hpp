// SPDX-License-Identifier: MIT
//
// Watching: events of a device until a time is over or somebody interrupts.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "overtake/device.hpp"
#include "overtake/event_source.hpp"

namespace overtake::watch {

struct Watched {
    std::shared_ptr<Device> device; ///< null for a kernel device
    std::unique_ptr<EventSource> events;
};

/// The device of this name, as open_device() takes it; with `engine_tasks` also the tasks of
/// engines, of processes that use their own queues of tasks.  Throws Error: an embedded device is
/// one process's own, and nobody else can watch it.
Watched watch_device(const std::string& name, bool engine_tasks);

/// SIGINT and SIGTERM end watch() from now on; the second one ends the process.
void stop_on_signals();
/// As a signal would.
void stop() noexcept;

/// Calls `see` for each event, until `seconds` are over (0: never), somebody stops it, or `see`
/// returns false.  `rest`: called now and then, when there is none at the moment.
void watch(EventSource& source, double seconds, const std::function<bool(const Event&)>& see,
           const std::function<void()>& rest = {});

} // namespace overtake::watch
