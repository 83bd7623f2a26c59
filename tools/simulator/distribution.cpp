// SPDX-License-Identifier: MIT
#include "simulator/distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace overtake::simulator {
namespace {

constexpr std::size_t exact_values_max = 65536;
/// Values below 2^linear_bits have a bucket each; every further octave has half as many buckets.
constexpr int linear_bits = 12;
constexpr std::uint64_t half = 1u << (linear_bits - 1);

std::size_t bucket_of(std::uint64_t value) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - linear_bits);
    return static_cast<std::size_t>(shift) * half + static_cast<std::size_t>(value >> shift);
}

/// Returns the rank of a percentile among `count` values, from 1.
std::uint64_t rank_of(double percent, std::uint64_t count) {
    const auto wanted =
        static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(count) - 1e-9));
    return std::clamp<std::uint64_t>(wanted, 1, count);
}

/// Returns the largest value of a bucket.
std::uint64_t upper_edge(std::size_t bucket) {
    if (bucket < 2 * half)
        return bucket;
    const std::size_t shift = bucket / half - 1;
    const std::uint64_t top = bucket - shift * half;
    return ((top + 1) << shift) - 1;
}

} // namespace

void Distribution::add(std::uint64_t value) {
    count_++;
    sum_ += value;
    max_ = std::max(max_, value);
    if (!buckets_.empty()) {
        count_in_bucket(value);
        return;
    }
    values_.push_back(value);
    sorted_ = false;
    if (values_.size() <= exact_values_max)
        return;
    for (const std::uint64_t old : values_)
        count_in_bucket(old);
    values_ = {};
}

void Distribution::count_in_bucket(std::uint64_t value) {
    const std::size_t bucket = bucket_of(value);
    if (bucket >= buckets_.size())
        buckets_.resize(bucket + 1);
    buckets_[bucket]++;
}

double Distribution::mean() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::uint64_t Distribution::percentile(double percent) const {
    if (count_ == 0)
        return 0;
    std::uint64_t rank = rank_of(percent, count_);
    if (exact()) {
        if (!sorted_)
            std::ranges::sort(values_);
        sorted_ = true;
        return values_[rank - 1];
    }
    for (std::size_t bucket = 0; bucket < buckets_.size(); bucket++) {
        if (rank <= buckets_[bucket])
            return std::min(upper_edge(bucket), max_);
        rank -= buckets_[bucket];
    }
    return max_;
}

std::uint64_t Distribution::samples_of(double percent, std::uint64_t count) {
    return count == 0 ? 0 : count - rank_of(percent, count) + 1;
}

} // namespace overtake::simulator
