// SPDX-License-Identifier: MIT
#include "simulator/jitter.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "simulator/random.hpp"

namespace overtake::simulator {
namespace {

/// Returns a seed of which each bit depends on each part of the key.
std::uint64_t mixed(const JitterKey& key) {
    std::uint64_t seed = 0;
    for (const std::uint64_t part : {key.seed, key.source, key.number, key.segment, key.fc})
        seed = Random(seed ^ part).next();
    return seed;
}

double factor(const Jitter& jitter, Random random) {
    if (jitter.shape == Jitter::Shape::uniform)
        return 1 + jitter.width * (2 * random.unit() - 1);
    return std::exp(jitter.width * random.normal() - jitter.width * jitter.width / 2);
}

} // namespace

std::uint64_t Jitter::of(std::uint64_t time, const JitterKey& key) const {
    if (shape == Shape::none)
        return time;
    const double drawn = std::round(static_cast<double>(time) * factor(*this, Random(mixed(key))));
    return static_cast<std::uint64_t>(std::clamp(drawn, 1.0, 0x1p63));
}

} // namespace overtake::simulator
