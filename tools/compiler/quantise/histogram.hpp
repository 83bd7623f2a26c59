// SPDX-License-Identifier: MIT
//
// The distribution of one tensor's values over the calibration samples, and the range to quantise.
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

/// Takes the minimum and maximum of all values and then, in a second pass, histograms between them.
class Histogram {
public:
    /// First pass.  Returns false if a value is not finite.
    bool look(const std::vector<float>& data);
    /// Second pass, over the same data.
    void count(const std::vector<float>& data);

    Range min_max() const { return {low_, high_}; }
    /// Returns the range without the (100 - percentile) % least and as many greatest elements.
    Range percentile(double percentile) const;
    /// Returns the range, cut off at one magnitude at both ends, with which 8 bits represent the
    /// distribution best.  Cuts nothing off if there are too few elements for a distribution.
    Range least_divergence() const;

    /// Returns the range, with each end cut off, with which rounding and saturating together give
    /// the least squared error.  With `function`, the error is that of its results: errors where
    /// the function is flat cost nothing.
    Range least_error(const std::function<float(float)>& function = {}) const;

    /// Returns the error of all elements together, from rounding and from saturating at the range.
    double squared_error(Range range) const;

private:
    float greatest() const;

    float low_ = std::numeric_limits<float>::infinity();
    float high_ = -std::numeric_limits<float>::infinity();
    std::vector<std::uint64_t> bins_;       // from low to high
    std::vector<std::uint64_t> magnitudes_; // of all elements except zeros, from 0 to the greatest
};

} // namespace overtake::compiler
