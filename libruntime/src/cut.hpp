// SPDX-License-Identifier: MIT
//
// Numbers that have to fit into a field of the driver's structures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace overtake {

/// Returns the number, or the greatest that fits the field: a device refuses that as well.
template <class Field>
Field cut(std::uint64_t value) {
    return static_cast<Field>(std::min<std::uint64_t>(value, std::numeric_limits<Field>::max()));
}

} // namespace overtake
