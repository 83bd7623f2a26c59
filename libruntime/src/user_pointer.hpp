// SPDX-License-Identifier: MIT
//
// Addresses in the driver's structures.
#pragma once

#include <cstdint>

namespace overtake {

/// An address as the driver's interface carries it: 64 bits on every machine.
inline std::uint64_t user_pointer(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

} // namespace overtake
