// SPDX-License-Identifier: MIT
//
// A device that only the process that opened it can use.
#pragma once

#include <memory>

#include "overtake/device.hpp"

namespace overtake {

/// Returns a wrapper of the device.  In a child of fork() (fork_origin.hpp), the functions of the
/// wrapper and of the objects that it makes throw Error ENOTSUP; those that are noexcept return 0
/// or what they return in the parent.
std::shared_ptr<Device> bind_to_process(std::shared_ptr<Device> device);
/// Returns the device that bind_to_process() has wrapped, or `device` itself if it is no wrapper.
/// For a wrapper, throws Error ENOTSUP in a child of fork().
Device& unbound(Device& device);

} // namespace overtake
