// SPDX-License-Identifier: MIT
#include "compiler/quantise/distinct_range.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace overtake::compiler {
namespace {

constexpr float half_steps = 510;
// The factor by which steps have to become finer, at least and at most.
constexpr float least_gain = 4, most_gain = 4096;

// Returns places all over the range, and denser ones towards zero, where functions bend.
std::vector<float> places_in(Range range) {
    constexpr int count = 1024, halvings = 24, each = 8;
    std::vector<float> places = {range.low, range.high};
    for (int index = 1; index < count; ++index)
        places.push_back(range.low + (range.high - range.low) * static_cast<float>(index) / count);
    const float most = std::max(std::abs(range.low), std::abs(range.high));
    for (int index = 1; index < halvings * each; ++index) {
        const float place = most * std::exp2(-static_cast<float>(index) / each);
        places.push_back(place);
        places.push_back(-place);
    }
    std::erase_if(places, [&](float place) { return place < range.low || place > range.high; });
    std::ranges::sort(places);
    return places;
}

// Returns the span; every quantised range contains zero.
float span(Range range) {
    return std::max(range.high, 0.0f) - std::min(range.low, 0.0f);
}

} // namespace

Range distinct_range(Range range, const std::function<float(float)>& function) {
    if (!(range.high > range.low))
        return range;
    const std::vector<float> places = places_in(range);
    std::vector<float> results(places.size());
    std::ranges::transform(places, results.begin(), function);
    if (!std::ranges::all_of(results, [](float result) { return std::isfinite(result); }))
        return range;
    const auto [least, most] = std::ranges::minmax(results);
    const float tolerance = (most - least) / half_steps;
    std::size_t first = 0, last = places.size() - 1;
    while (first < last && std::abs(results[first + 1] - results.front()) <= tolerance)
        ++first;
    while (last > first && std::abs(results[last - 1] - results.back()) <= tolerance)
        --last;
    const Range kept{places[first], places[last]};
    const float gain = span(kept) > 0 ? span(range) / span(kept) : 0;
    return gain >= least_gain && gain <= most_gain ? kept : range;
}

} // namespace overtake::compiler
