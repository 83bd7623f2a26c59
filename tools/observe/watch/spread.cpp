// SPDX-License-Identifier: MIT
#include "observe/watch/spread.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace overtake::watch {

namespace {

constexpr unsigned step_bits = 7;
constexpr unsigned steps = 1u << step_bits;

} // namespace

/// Each value below 128 has a step of its own; above, each power of two has 128 steps.
unsigned Spread::step_of(std::uint64_t value) {
    if (value < steps)
        return static_cast<unsigned>(value);
    const unsigned power = static_cast<unsigned>(std::bit_width(value)) - 1;
    const auto part = static_cast<unsigned>(value >> (power - step_bits)) - steps;
    return (power - step_bits + 1) * steps + part;
}

std::uint64_t Spread::last_of(unsigned step) {
    if (step < steps)
        return step;
    const unsigned shift = step / steps - 1;
    const std::uint64_t first = std::uint64_t{steps + step % steps} << shift;
    return first + (std::uint64_t{1} << shift) - 1;
}

void Spread::add(std::uint64_t value) {
    steps_[step_of(value)]++;
    count_++;
    greatest_ = std::max(greatest_, value);
    sum_ += static_cast<double>(value);
}

double Spread::mean() const noexcept {
    return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

std::uint64_t Spread::percentile(double percent) const {
    const auto rank =
        static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_) - 1e-9));
    std::uint64_t seen = 0;
    for (const auto& [step, count] : steps_) {
        seen += count;
        if (seen >= std::max<std::uint64_t>(rank, 1))
            return std::min(last_of(step), greatest_);
    }
    return greatest_;
}

std::map<unsigned, std::uint64_t> Spread::by_power() const {
    std::map<unsigned, std::uint64_t> powers;
    for (const auto& [step, count] : steps_) {
        const std::uint64_t last = last_of(step);
        powers[last == 0 ? 0 : static_cast<unsigned>(std::bit_width(last)) - 1] += count;
    }
    return powers;
}

} // namespace overtake::watch
