// SPDX-License-Identifier: MIT
//
// Spread: how values are spread, in memory that does not grow with their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace overtake::watch {

/// Counts values by their binary logarithm, in 128 steps to a power of two: a percentile is at most
/// one part in 128 above the value that it stands for, and never above the greatest.
class Spread {
public:
    void add(std::uint64_t value);

    std::uint64_t count() const noexcept { return count_; }
    std::uint64_t greatest() const noexcept { return greatest_; }
    /// Of the values; 0 without any.
    double mean() const noexcept;
    /// The smallest step's end that at least `percent` of the values do not exceed (nearest rank);
    /// 0 without any.
    std::uint64_t percentile(double percent) const;
    /// How many values v have 2^key <= v < 2^(key + 1); key 0 has 0 as well.
    std::map<unsigned, std::uint64_t> by_power() const;
    /// Different ones that are kept: its memory, some 50 bytes each.
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
