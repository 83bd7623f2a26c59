// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "overtake/event_source.hpp"

namespace overtake::watch {

/// What the driver's tracepoints tell, of all its devices, through a BPF program.  Throws Error:
/// ENOENT without the driver, EPERM without the right, ENOTSUP if the command was built without it;
/// each names the remedy.
std::unique_ptr<EventSource> open_kernel_events();

} // namespace overtake::watch
