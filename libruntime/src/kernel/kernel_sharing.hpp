// SPDX-License-Identifier: MIT
//
// A buffer of a kernel device in the address space of another device: the same pages, by dma-buf.
#pragma once

#include <cstddef>
#include <cstdint>

#include "overtake/device.hpp"

namespace overtake {

/// Returns the address that `device` has for the buffer that `owner` has at `address`: all of it,
/// of which the caller uses the first `bytes`.  The address is valid as long as the buffer lives,
/// and a later call for it makes no system call.  Throws Error ENOTSUP unless they are two kernel
/// devices, ENOENT where no buffer begins, EINVAL for a part of a buffer, EMFILE, ENOSPC or ENOMEM
/// where there is no room, and ENODEV if one of the devices has gone.  Thread safe.
std::uint64_t address_on(Device& device, Device& owner, std::uint64_t address, std::size_t bytes);

} // namespace overtake
