// SPDX-License-Identifier: MIT
//
// What one tensor's values look like over the calibration samples, and the range to quantise.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace overtake::compiler {

/// The interval of the values that a tensor takes.
struct Range {
    float low;
    float high;
};

/// Minimum and maximum of everything seen, then, in a second pass, histograms between them.
class Histogram {
public:
    /// First pass.  False if something is not finite.
    bool look(const std::vector<float>& data);
    /// Second pass, over the same data.
    void count(const std::vector<float>& data);

    Range min_max() const { return {low_, high_}; }
    /// Without the (100 - percentile) % least and greatest elements.
    Range percentile(double percentile) const;
    /// Cuts both ends off where what 8 bits make of the rest tells least from the whole; neither of
    /// fewer elements than a histogram needs to have a shape.
    Range least_divergence() const;

    /// Cuts each end off where rounding and saturating together give the least squared error, of
    /// what `function` makes of the values if there is one: where it is flat, errors cost nothing.
    Range least_error(const std::function<float(float)>& function = {}) const;

    /// Of all elements together, from rounding and from saturating at the range.
    double squared_error(Range range) const;

private:
    float greatest() const;

    float low_ = std::numeric_limits<float>::infinity();
    float high_ = -std::numeric_limits<float>::infinity();
    std::vector<std::uint64_t> bins_;       // from low to high
    std::vector<std::uint64_t> magnitudes_; // of all but zeros, from 0 to the greatest
};

} // namespace overtake::compiler
