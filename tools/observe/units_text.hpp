// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#include <fmt/format.h>

namespace overtake {

/// Returns "unit 3", or "units 3 to 5" for neighbours in a chain, whose numbers may have gaps.
inline std::string units_text(std::uint64_t units) {
    const int first = std::countr_zero(units);
    const int last = 63 - std::countl_zero(units);
    return first == last ? fmt::format("unit {}", first)
                         : fmt::format("units {} to {}", first, last);
}

} // namespace overtake
