// SPDX-License-Identifier: MIT
//
// A device that only the process that opened it can use.
#pragma once

#include <memory>

#include "overtake/device.hpp"

namespace overtake {

/// Returns the same device, whose functions, and those of the objects that it makes, throw Error
/// ENOTSUP in a child of fork() (fork_origin.hpp).
std::shared_ptr<Device> bind_to_process(std::shared_ptr<Device> device);
/// Returns the backend's device behind such a device; any other device is returned itself.  Throws
/// Error ENOTSUP in a child of fork().
Device& unbound(Device& device);

} // namespace overtake
