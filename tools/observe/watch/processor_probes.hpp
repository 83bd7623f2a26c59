// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "observe/processor_event.hpp"
#include "observe/watch/engine_tasks.hpp"

namespace overtake::watch {

/// Returns the event of a probe of an engine with several processors; nothing for another probe, or
/// for impossible arguments.
std::optional<ProcessorEvent> processor_event_of(const ProbeHit& hit);

} // namespace overtake::watch
