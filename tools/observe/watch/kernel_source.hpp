// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "observe/processor_event.hpp"
#include "overtake/event_source.hpp"

namespace overtake::watch {

/// The choice of the events of engines that are reported.
struct EngineChoice {
    bool wanted = false;     ///< all events
    bool processors = false; ///< the state of the processors of engines with several
    bool runs = false;       ///< the runs on these processors
    /// Paths of libraries whose probes are read besides those that find_engine_libraries() trusts.
    std::vector<std::string> libraries{};
};

/// Reports the events of the driver's tracepoints, of all its devices, through a BPF program. If
/// wanted, it also reports the tasks of processes' engines from their USDT probes, if there are
/// any. Throws Error: ENOENT without the driver, EPERM without the right, ENOTSUP if the command
/// was built without BPF; each names the remedy.
std::unique_ptr<EventSource> open_kernel_events(const EngineChoice& engines);

/// Reports the events of a device, and of the engines that use it from their probes. If the probes
/// cannot be read (without the right to use BPF), it reports the events of the device alone.
std::unique_ptr<EventSource> add_engine_tasks(std::unique_ptr<EventSource> device,
                                              const EngineChoice& engines);

/// Returns how many of the events that such a source has lost were of engines.
std::uint64_t lost_of_engines(const EventSource& source) noexcept;

/// Returns how many of these were dropped because memory for them is bounded.
std::uint64_t dropped_of_engines(const EventSource& source) noexcept;

/// Returns the events of engines with several processors since the last call, whichever devices
/// they use.
std::vector<ProcessorEvent> take_processor_events(EventSource& source);

/// Reports the events of engines from their probes, without any device's events. Throws as
/// open_kernel_events() does.
std::unique_ptr<EventSource> open_engine_events(const EngineChoice& engines);

/// Returns one line that names the engines that the source does not report, with the reasons.
/// Empty: it reports all engines, or it does not read probes.
std::string engines_left_out(const EventSource& source);

} // namespace overtake::watch
