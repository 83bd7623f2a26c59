// SPDX-License-Identifier: MIT
//
// Exponentials of many numbers, with the same bits on every CPU.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace overtake::cpu {

/// Returns e to the power of `x`, which is not positive, to two units in the last place.  Results
/// below e to the -87 are 0, and NaN stays NaN.  The method is that of Cephes' expf: a power of
/// two, and a polynomial between -ln(2)/2 and ln(2)/2.  Comparisons are of integers, without
/// branches or calls, so that a compiler computes several at once.
inline float exponential(float x) {
    constexpr float most = 87.0f, log2_e = 1.44269504088896341f;
    constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    constexpr float rounds = 12582912.0f; // 1.5 * 2^23: adding it leaves the nearest integer
    constexpr auto most_bits = std::bit_cast<std::int32_t>(most);
    constexpr std::int32_t infinity = 0x7f800000, no_number = 0x7fc00000;
    const std::int32_t magnitude = std::bit_cast<std::int32_t>(x) & 0x7fffffff;
    const float bounded = -std::bit_cast<float>(std::min(magnitude, most_bits));
    const float shifted = bounded * log2_e + rounds;
    const float whole = shifted - rounds;
    const float rest = bounded - whole * ln2_high - whole * ln2_low;
    float power = 1.9875691500e-4f;
    power = power * rest + 1.3981999507e-3f;
    power = power * rest + 8.3334519073e-3f;
    power = power * rest + 4.1665795894e-2f;
    power = power * rest + 1.6666665459e-1f;
    power = power * rest + 5.0000001201e-1f;
    power = power * rest * rest + rest + 1.0f;
    const std::uint32_t exponent =
        std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(rounds) + 127;
    const auto value = std::bit_cast<std::int32_t>(power * std::bit_cast<float>(exponent << 23));
    const std::int32_t kept = -static_cast<std::int32_t>(magnitude <= most_bits);
    const std::int32_t none = -static_cast<std::int32_t>(magnitude > infinity) & no_number;
    return std::bit_cast<float>((value & kept) | none);
}

/// Returns 1 / (1 + e^-x), to three units in the last place; below -87 it is 0.
inline float sigmoid(float x) {
    const auto bits = std::bit_cast<std::int32_t>(x);
    const float small = exponential(-std::bit_cast<float>(bits & 0x7fffffff));
    const std::int32_t is_negative = bits >> 31; // all bits set, or none
    const auto numerator = std::bit_cast<float>((std::bit_cast<std::int32_t>(small) & is_negative) |
                                                (std::bit_cast<std::int32_t>(1.0f) & ~is_negative));
    return numerator / (1.0f + small);
}

} // namespace overtake::cpu
