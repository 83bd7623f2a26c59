// SPDX-License-Identifier: MIT
//
// The rounding of a number to an int8 or an int16, the same in the runtime and in the compiler.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace overtake {

/// Returns q = value / scale, rounded half to even in float32, plus the zero point, saturated; NaN
/// becomes the zero point.
inline std::int8_t quantise(float value, float scale, float zero_point) {
    const float q = std::nearbyint(value / scale) + zero_point;
    if (std::isnan(q))
        return static_cast<std::int8_t>(zero_point);
    return static_cast<std::int8_t>(std::clamp(q, -128.0f, 127.0f));
}

/// Does the same in 16 bits, where the zero point is 0.
inline std::int16_t quantise_int16(float value, float scale) {
    const float q = std::nearbyint(value / scale);
    if (std::isnan(q))
        return 0;
    return static_cast<std::int16_t>(std::clamp(q, -32768.0f, 32767.0f));
}

} // namespace overtake
