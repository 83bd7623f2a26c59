// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

namespace overtake::compiler {

/// An element q, an int8 or an int16, means scale * (q - zero_point).
struct Quantisation {
    float scale = 1.0f;
    int zero_point = 0;
    bool is_int16 = false; ///< then the zero point is 0

    int least() const { return is_int16 ? -32768 : -128; }
    int greatest() const { return is_int16 ? 32767 : 127; }

    float real(int q) const { return scale * static_cast<float>(q - zero_point); }
    /// Returns the nearest q, rounded as in the runtime; see overtake::quantise().
    int nearest(float real) const;

    /// Convert between q and the bytes of the device.
    void store(int q, void* to) const {
        const auto wide = static_cast<std::int16_t>(q);
        const auto narrow = static_cast<std::int8_t>(q);
        if (is_int16)
            std::memcpy(to, &wide, sizeof(wide));
        else
            std::memcpy(to, &narrow, sizeof(narrow));
    }
    int load(const void* from) const {
        std::int16_t wide = 0;
        std::int8_t narrow = 0;
        if (is_int16)
            std::memcpy(&wide, from, sizeof(wide));
        else
            std::memcpy(&narrow, from, sizeof(narrow));
        return is_int16 ? wide : narrow;
    }

    bool operator==(const Quantisation&) const = default;
};

} // namespace overtake::compiler
