// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "observe/processor_event.hpp"
#include "observe/watch/engine_tasks.hpp"

namespace overtake::watch {

/// What the probe of an engine with several processors says; none: another probe, or arguments that
/// make no sense.
std::optional<ProcessorEvent> processor_event_of(const ProbeHit& hit);

} // namespace overtake::watch
