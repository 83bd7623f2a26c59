// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "observe/processor_event.hpp"
#include "overtake/event_source.hpp"

namespace overtake::watch {

/// What is reported of engines.
struct EngineChoice {
    bool wanted = false;     ///< everything
    bool processors = false; ///< how the processors of those with several do
    bool runs = false;       ///< and what they run
    /// Whose probes are read besides those that find_engine_libraries() trusts: paths.
    std::vector<std::string> libraries{};
};

/// What the driver's tracepoints tell, of all its devices, through a BPF program; if wanted, also
/// what the USDT probes of processes' engines tell of their tasks, as far as there are any.  Throws
/// Error: ENOENT without the driver, EPERM without the right, ENOTSUP if the command was built
/// without it; each names the remedy.
std::unique_ptr<EventSource> open_kernel_events(const EngineChoice& engines);

/// The events of a device, and what probes tell of the engines that use it: or those of the device
/// alone, for whom may not use BPF.
std::unique_ptr<EventSource> add_engine_tasks(std::unique_ptr<EventSource> device,
                                              const EngineChoice& engines);

/// Of what such a source has lost, what engines told.
std::uint64_t lost_of_engines(const EventSource& source) noexcept;

/// Of those, what was dropped because memory for it is bounded.
std::uint64_t dropped_of_engines(const EventSource& source) noexcept;

/// What engines with several processors have told since the last call, whichever devices they use.
std::vector<ProcessorEvent> take_processor_events(EventSource& source);

/// What probes tell of engines, without any device's events.  Throws as open_kernel_events().
std::unique_ptr<EventSource> open_engine_events(const EngineChoice& engines);

/// Which engines such a source tells nothing of, and why, in one line; empty: it tells of all.
std::string engines_left_out(const EventSource& source);

} // namespace overtake::watch
