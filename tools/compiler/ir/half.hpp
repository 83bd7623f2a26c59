// SPDX-License-Identifier: MIT
//
// IEEE 754's binary16: a sign, 5 bits of exponent, 10 of fraction.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace overtake::compiler {

/// The conversion is exact: float32 holds every binary16.
inline float from_float16(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const float fraction = static_cast<float>(bits & 1023);
    float size = 0;
    if (exponent == 31)
        size = fraction == 0 ? std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::quiet_NaN();
    else if (exponent == 0)
        size = std::ldexp(fraction, -24);
    else
        size = std::ldexp(fraction + 1024, exponent - 25);
    return std::copysign(size, (bits & 0x8000) != 0 ? -1.0f : 1.0f);
}

} // namespace overtake::compiler
