// SPDX-License-Identifier: MIT
//
// Spread: the distribution of values, in memory that does not grow with their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace overtake::watch {

/// Counts values by their binary logarithm, in 128 steps to a power of two. A percentile is at most
/// 1/128 above the exact value, and never above the greatest value.
class Spread {
public:
    void add(std::uint64_t value);

    std::uint64_t count() const noexcept { return count_; }
    std::uint64_t greatest() const noexcept { return greatest_; }
    /// Returns the mean of the values; 0 without any.
    double mean() const noexcept;
    /// Returns the end of the smallest step that at least `percent` of the values do not exceed
    /// (nearest rank), at most the greatest value; 0 without any.
    std::uint64_t percentile(double percent) const;
    /// Returns how many values v have 2^key <= v < 2^(key + 1), by key; key 0 also counts 0.
    std::map<unsigned, std::uint64_t> by_power() const;
    /// Returns the number of steps that are kept: the memory, about 50 bytes each.
    std::size_t entries() const noexcept { return steps_.size(); }

private:
    static unsigned step_of(std::uint64_t value);
    static std::uint64_t last_of(unsigned step);

    std::map<unsigned, std::uint64_t> steps_;
    std::uint64_t count_ = 0;
    std::uint64_t greatest_ = 0;
    double sum_ = 0;
};

} // namespace overtake::watch
