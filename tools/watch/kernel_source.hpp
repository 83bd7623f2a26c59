// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "overtake/event_source.hpp"

namespace overtake::watch {

/// What the driver's tracepoints tell, of all its devices, through a BPF program; with
/// `engine_tasks` also what the USDT probes of processes' engines tell of their tasks, as far as
/// there are any.  Throws Error: ENOENT without the driver, EPERM without the right, ENOTSUP if the
/// command was built without it; each names the remedy.
std::unique_ptr<EventSource> open_kernel_events(bool engine_tasks);

/// The events of a device, and what probes tell of the engines that use it: or those of the device
/// alone, for whom may not use BPF.
std::unique_ptr<EventSource> add_engine_tasks(std::unique_ptr<EventSource> device);

/// Of what such a source has lost, what engines told.
std::uint64_t lost_of_engines(const EventSource& source) noexcept;

} // namespace overtake::watch
