// SPDX-License-Identifier: MIT
//
// Not a primitive of oneDNN's: those crash, or stay broken for good, where an allocation fails.
#include "cpu/softmax.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

namespace overtake {

namespace {

/// e to the power of `x`, which is not positive, to two units in the last place; what is less than
/// e to the -87 is 0, and what is no number stays so.  After Cephes' expf: a power of two, and a
/// polynomial between -ln(2)/2 and ln(2)/2.  Comparisons are those of integers, without branches or
/// calls, so that a compiler computes several at once.
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

/// `combine` of all: sixteen at once, which do not wait for each other.
template <typename Combine>
float reduce(const float* values, std::size_t count, float first, const Combine& combine) {
    constexpr std::size_t at_once = 16;
    std::array<float, at_once> parts;
    parts.fill(first);
    std::size_t i = 0;
    for (; i + at_once <= count; i += at_once)
        for (std::size_t k = 0; k < at_once; k++)
            parts[k] = combine(parts[k], values[i + k]);
    float result = first;
    for (; i < count; i++)
        result = combine(result, values[i]);
    for (const float part : parts)
        result = combine(result, part);
    return result;
}

float greater(float a, float b) {
    return a > b ? a : b;
}

} // namespace

Softmax::Softmax(const std::vector<std::uint32_t>& shape, int axis)
    : length_(shape[static_cast<std::size_t>(axis)]) {
    for (std::size_t i = 0; i < shape.size(); i++)
        if (i != static_cast<std::size_t>(axis))
            (i < static_cast<std::size_t>(axis) ? outer_ : inner_) *= shape[i];
    if (inner_ > 1) {
        greatest_.resize(inner_);
        sums_.resize(inner_);
    }
}

void Softmax::run(std::span<const float> in, std::span<float> out) {
    for (std::size_t outer = 0; outer < outer_; outer++) {
        const std::size_t first = outer * length_ * inner_;
        if (inner_ == 1)
            run_rows(in.data() + first, out.data() + first);
        else
            run_columns(in.data() + first, out.data() + first);
    }
}

void Softmax::run_rows(const float* in, float* out) const {
    const float greatest = reduce(in, length_, in[0], greater);
    for (std::size_t i = 0; i < length_; i++)
        out[i] = exponential(in[i] - greatest);
    const float scale = 1.0f / reduce(out, length_, 0, std::plus<float>());
    for (std::size_t i = 0; i < length_; i++)
        out[i] *= scale;
}

void Softmax::run_columns(const float* in, float* out) {
    std::copy(in, in + inner_, greatest_.begin());
    for (std::size_t i = 1; i < length_; i++)
        for (std::size_t k = 0; k < inner_; k++)
            greatest_[k] = std::max(greatest_[k], in[i * inner_ + k]);
    std::ranges::fill(sums_, 0.0f);
    for (std::size_t i = 0; i < length_; i++)
        for (std::size_t k = 0; k < inner_; k++) {
            const float value = exponential(in[i * inner_ + k] - greatest_[k]);
            out[i * inner_ + k] = value;
            sums_[k] += value;
        }
    for (std::size_t k = 0; k < inner_; k++)
        sums_[k] = 1.0f / sums_[k];
    for (std::size_t i = 0; i < length_; i++)
        for (std::size_t k = 0; k < inner_; k++)
            out[i * inner_ + k] *= sums_[k];
}

} // namespace overtake
