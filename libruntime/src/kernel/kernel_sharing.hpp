// SPDX-License-Identifier: MIT
//
// A buffer of a kernel device in the address space of another one: the same pages, by dma-buf.
#pragma once

#include <cstddef>
#include <cstdint>

#include "overtake/device.hpp"

namespace overtake {

/// The address that `device` has for a buffer of `owner`, which has it at `address`: all of it, of
/// which the caller uses the first `bytes`.  It is valid as long as the buffer lives, and asking
/// again costs no call of the kernel.  Throws Error ENOTSUP unless both are kernel devices, ENOENT
/// where no buffer begins and EINVAL for a part of one; EMFILE, ENOSPC or ENOMEM where there is no
/// room, and ENODEV if one of them has gone.  Thread safe.
std::uint64_t address_on(Device& device, Device& owner, std::uint64_t address, std::size_t bytes);

} // namespace overtake
