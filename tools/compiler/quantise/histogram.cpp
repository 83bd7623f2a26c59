// SPDX-License-Identifier: MIT
#include "compiler/quantise/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

namespace overtake::compiler {
namespace {

constexpr std::size_t value_bins = 4096;
constexpr std::size_t magnitude_bins = 2048;
constexpr std::size_t least_bins = 128; // the fewest bins that a cut keeps
constexpr std::size_t bins_step = 8;    // between the cuts that are tried
constexpr double levels = 255;          // the steps of 8 bits

struct FilledBin {
    std::size_t bin;
    std::uint64_t count; // not 0
};

// Returns the filled bins in their order; few elements fill few bins.
std::vector<FilledBin> filled(const std::vector<std::uint64_t>& bins) {
    std::vector<FilledBin> result;
    for (std::size_t bin = 0; bin < bins.size(); ++bin)
        if (bins[bin] > 0)
            result.push_back({bin, bins[bin]});
    return result;
}

// Returns how badly `level_count` levels over bins [0, kept) represent the histogram.
//
// The reference has all elements; those beyond the cut count in its last bin, where saturation puts
// them.  The candidate knows of each level only the number of its elements, spread evenly over the
// level's bins that are not empty.  The result is the Kullback-Leibler divergence of the two, in
// nats: the information that is lost by using the candidate in place of the reference.  It sees
// both errors: saturated elements accumulate where the candidate has few, and coarse levels smooth
// the shape.
double divergence(std::span<const FilledBin> bins, std::uint64_t all, std::size_t kept,
                  std::size_t level_count) {
    const auto end = std::ranges::lower_bound(bins, kept, {}, &FilledBin::bin);
    std::uint64_t inside = 0;
    for (auto each = bins.begin(); each != end; ++each)
        inside += each->count;
    if (inside == 0)
        return std::numeric_limits<double>::infinity();
    const std::uint64_t outside = all - inside;
    const double total = static_cast<double>(all);
    const auto loss = [&](std::uint64_t here, double q) {
        const double p = static_cast<double>(here) / total;
        return p * std::log(p / q);
    };
    double sum = 0;
    std::size_t level = 0;
    for (auto first = bins.begin(); first != end;) {
        while (first->bin >= (level + 1) * kept / level_count)
            ++level;
        std::uint64_t within = 0;
        auto last = first;
        for (; last != end && last->bin < (level + 1) * kept / level_count; ++last)
            within += last->count;
        const double q = static_cast<double>(within) / static_cast<double>(last - first) /
                         static_cast<double>(inside);
        for (; first != last; ++first)
            sum += loss(first->count + (first->bin == kept - 1 ? outside : 0), q);
    }
    // Takes the smallest amount, half an element, where the candidate has nothing.
    if (outside > 0 && std::prev(end)->bin != kept - 1)
        sum += loss(outside, 0.5 / static_cast<double>(inside));
    return sum;
}

// The squared error of all elements after a function; each element counts as the middle of its bin.
class ErrorOfRange {
public:
    ErrorOfRange(double low, double high, const std::vector<std::uint64_t>& bins,
                 std::function<float(float)> function)
        : function_(std::move(function)), bins_(filled(bins)) {
        const double size = (high - low) / static_cast<double>(bins.size());
        for (const auto& [bin, count] : bins_) {
            const double value = low + (static_cast<double>(bin) + 0.5) * size;
            values_.push_back(value);
            results_.push_back(at(value));
            slopes_.push_back(
                function_ && size > 0 ? (at(value + size / 2) - at(value - size / 2)) / size : 1.0);
        }
    }

    // Within the range, a step has a mean squared error of a twelfth of its square.
    double operator()(double low, double high) const {
        const double step = (high - low) / levels;
        const double lowest = at(low), highest = at(high);
        double sum = 0;
        for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
            const bool is_inside = values_[bin] >= low && values_[bin] <= high;
            const double beyond = results_[bin] - (values_[bin] < low ? lowest : highest);
            const double error = slopes_[bin] * step;
            sum += static_cast<double>(bins_[bin].count) *
                   (is_inside ? error * error / 12 : beyond * beyond);
        }
        return sum;
    }

private:
    double at(double value) const {
        return function_ ? double{function_(static_cast<float>(value))} : value;
    }

    const std::function<float(float)> function_;
    const std::vector<FilledBin> bins_;
    std::vector<double> values_, results_, slopes_; // of the bins
};

} // namespace

float Histogram::greatest() const {
    return std::max(std::abs(low_), std::abs(high_));
}

bool Histogram::look(const std::vector<float>& data) {
    bool finite = true;
    for (float element : data) {
        low_ = std::min(low_, element);
        high_ = std::max(high_, element);
        finite = finite && std::isfinite(element);
    }
    return finite;
}

void Histogram::count(const std::vector<float>& data) {
    bins_.resize(value_bins);
    magnitudes_.resize(magnitude_bins);
    const float step = (high_ - low_) / static_cast<float>(value_bins);
    const float magnitude_step = greatest() / static_cast<float>(magnitude_bins);
    for (float element : data) {
        const float position = step > 0 ? (element - low_) / step : 0.0f;
        ++bins_[std::min(static_cast<std::size_t>(position), value_bins - 1)];
        // Zero is exact in every range, and after a Relu half of all elements are zero.
        if (element != 0 && magnitude_step > 0)
            ++magnitudes_[std::min(static_cast<std::size_t>(std::abs(element) / magnitude_step),
                                   magnitude_bins - 1)];
    }
}

Range Histogram::percentile(double percentile) const {
    std::uint64_t total = 0;
    for (std::uint64_t bin : bins_)
        total += bin;
    const double dropped = static_cast<double>(total) * (100.0 - percentile) / 100.0;
    std::size_t first = 0, last = bins_.size();
    for (std::uint64_t seen = 0; first < last && double(seen += bins_[first]) <= dropped;)
        ++first;
    for (std::uint64_t seen = 0; last > first && double(seen += bins_[last - 1]) <= dropped;)
        --last;
    const float step = (high_ - low_) / static_cast<float>(value_bins);
    return {low_ + step * static_cast<float>(first), low_ + step * static_cast<float>(last)};
}

Range Histogram::least_divergence() const {
    const float step = greatest() / static_cast<float>(magnitude_bins);
    Range best = min_max();
    double least = std::numeric_limits<double>::infinity();
    const std::vector<FilledBin> bins = filled(magnitudes_);
    std::uint64_t all = 0;
    for (const FilledBin& each : bins)
        all += each.count;
    if (all < magnitude_bins) // hardly more than one in a bin: there is no shape
        return best;
    for (std::size_t kept = magnitude_bins; kept >= least_bins && step > 0; kept -= bins_step) {
        const float cut = step * static_cast<float>(kept);
        const Range range{std::max(low_, -cut), std::min(high_, cut)};
        // The levels on the longer side of zero.
        const double span = std::max(range.high, 0.0f) - double{std::min(range.low, 0.0f)};
        const auto level_count = static_cast<std::size_t>(std::max(levels * cut / span, 1.0));
        const double lost = divergence(bins, all, kept, std::min(level_count, kept));
        if (lost < least) {
            least = lost;
            best = range;
        }
    }
    return best;
}

double Histogram::squared_error(Range range) const {
    // Every quantised range contains zero.
    return ErrorOfRange(low_, high_, bins_, {})(std::min(range.low, 0.0f),
                                                std::max(range.high, 0.0f));
}

Range Histogram::least_error(const std::function<float(float)>& function) const {
    constexpr int cuts = 64, rounds = 2;
    const ErrorOfRange squared_error(low_, high_, bins_, function);
    // Every quantised range contains zero.
    const double low = std::min(low_, 0.0f), high = std::max(high_, 0.0f);
    double best_low = low, best_high = high;
    double least = squared_error(low, high);
    const auto look = [&](double candidate_low, double candidate_high) {
        const double error = squared_error(candidate_low, candidate_high);
        if (error < least) {
            least = error;
            best_low = candidate_low;
            best_high = candidate_high;
        }
    };
    for (int round = 0; round < rounds && high > low; ++round)
        for (int cut = 1; cut < cuts; ++cut) {
            const double kept = 1.0 - double(cut) / cuts;
            if (round == 0)
                look(low * kept, high * kept);
            look(low * kept, best_high);
            look(best_low, high * kept);
        }
    return {static_cast<float>(best_low), static_cast<float>(best_high)};
}

} // namespace overtake::compiler
