// SPDX-License-Identifier: MIT
//
// Distribution: percentiles of any number of values in bounded memory.
#pragma once

#include <cstdint>
#include <vector>

namespace overtake::simulator {

/// A Distribution is exact up to 65,536 values. Beyond that, values are counted in buckets, and a
/// percentile is too large by less than 1/2048 of it. No percentile is above the maximum, which
/// stays exact.
class Distribution {
public:
    void add(std::uint64_t value);

    std::uint64_t count() const { return count_; }
    std::uint64_t sum() const { return sum_; }
    std::uint64_t max() const { return max_; } ///< 0 if empty
    double mean() const;                       ///< 0 if empty
    bool exact() const { return buckets_.empty(); }
    /// Returns the smallest value that at least `percent` of the values do not exceed (nearest
    /// rank); percent is in (0, 100]. 0 if empty.
    std::uint64_t percentile(double percent) const;

    /// Returns the number of values on which a percentile of `count` values rests: the value of its
    /// rank and all above it.
    static std::uint64_t samples_of(double percent, std::uint64_t count);

private:
    void count_in_bucket(std::uint64_t value);

    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t max_ = 0;
    mutable std::vector<std::uint64_t> values_;
    mutable bool sorted_ = true;
    std::vector<std::uint64_t> buckets_;
};

} // namespace overtake::simulator
