// SPDX-License-Identifier: MIT
//
// A device that only the process that opened it can use.
#pragma once

#include <memory>

#include "overtake/device.hpp"

namespace overtake {

/// The same device, whose functions, and those of what it makes, throw Error ENOTSUP in a child of
/// fork() (fork_origin.hpp).
std::shared_ptr<Device> bind_to_process(std::shared_ptr<Device> device);
/// The backend's device behind such a one; another one itself.  Throws Error ENOTSUP in a child of
/// fork().
Device& unbound(Device& device);

} // namespace overtake
