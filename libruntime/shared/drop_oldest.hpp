// SPDX-License-Identifier: MIT
//
// Makes room in a map that has a limit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace overtake {

/// Erases the oldest entries of a map that is not empty: a sixteenth of all, rounded down, and one
/// more.  So adding an entry at the limit costs as much as a constant number of others.  `age_of`
/// takes an element: the smaller, the older.  `erase` takes an iterator and returns the next one.
/// Returns the number of erased entries.
template <typename Map, typename AgeOf, typename Erase>
std::size_t drop_oldest(Map& map, const AgeOf& age_of, const Erase& erase) {
    if (map.empty())
        return 0;
    const std::size_t count = map.size() / 16 + 1;
    std::vector<std::uint64_t> ages;
    ages.reserve(map.size());
    for (const auto& element : map)
        ages.push_back(age_of(element));
    const auto last = ages.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::ranges::nth_element(ages, last);
    std::size_t dropped = 0;
    for (auto at = map.begin(); at != map.end() && dropped < count;) {
        const bool is_old = age_of(*at) <= *last;
        at = is_old ? erase(at) : std::next(at);
        dropped += is_old;
    }
    return dropped;
}

template <typename Map, typename AgeOf>
std::size_t drop_oldest(Map& map, const AgeOf& age_of) {
    return drop_oldest(map, age_of, [&](auto at) { return map.erase(at); });
}

} // namespace overtake
