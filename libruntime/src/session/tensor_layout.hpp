// SPDX-License-Identifier: MIT
//
// Between a user's dense float arrays and the device's int8 tensors (see Tensor).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "overtake/model.hpp"

namespace overtake {

/// q = value / scale rounded half to even in float32, plus the zero point, saturated; not-a-number
/// becomes the zero point.  The compiler rounds with it too.
inline std::int8_t quantise(float value, float scale, float zero_point) {
    const float q = std::nearbyint(value / scale) + zero_point;
    if (std::isnan(q))
        return static_cast<std::int8_t>(zero_point);
    return static_cast<std::int8_t>(std::clamp(q, -128.0f, 127.0f));
}

/// Each value as quantise() makes it.  Of a tensor of bytes the values are the bytes.  `values` has
/// tensor.elements() entries, `out` tensor.bytes bytes; padding is left as it is.
void to_device(const Tensor& tensor, std::span<const float> values, std::span<std::byte> out);

/// value = scale * (q - zero point).  The reverse shapes.
void from_device(const Tensor& tensor, std::span<const std::byte> in, std::span<float> values);

} // namespace overtake
