// SPDX-License-Identifier: MIT
//
// Softmax does not use oneDNN: its primitives crash, or stay broken for good, if an allocation
// fails.
#include "cpu/softmax.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "cpu/exponential.hpp"
#include "cpu/vectors.hpp"

namespace overtake {

namespace {

/// Combines all values through sixteen partial results, which do not depend on each other.
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
    cpu::with_vectors([&] {
        for (std::size_t outer = 0; outer < outer_; outer++) {
            const std::size_t first = outer * length_ * inner_;
            if (inner_ == 1)
                run_rows(in.data() + first, out.data() + first);
            else
                run_columns(in.data() + first, out.data() + first);
        }
    });
}

void Softmax::run_rows(const float* in, float* out) const {
    const float greatest = reduce(in, length_, in[0], greater);
    for (std::size_t i = 0; i < length_; i++)
        out[i] = cpu::exponential(in[i] - greatest);
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
            const float value = cpu::exponential(in[i * inner_ + k] - greatest_[k]);
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
