// SPDX-License-Identifier: MIT
//
// Statistics of the requests of a load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "load/load.hpp"

namespace overtake::load {

/// Returns the smallest value that at least `percent` of the values do not exceed (nearest rank).
/// `sorted` is ascending and not empty; percent is in (0, 100].
std::uint64_t percentile(std::span<const std::uint64_t> sorted, double percent);

/// Returns the number of values, of `count`, that are after percentile().
std::size_t beyond(std::size_t count, double percent);

/// Returns the latencies of the requests that succeeded, from the arrival at the device to the end
/// of the last FC, ascending, in ns of the device.
std::vector<std::uint64_t> latencies(std::span<const Request> requests);

/// Returns the time from when a request was due to its result, in ns. A device whose host is late
/// may record an arrival before the request was due: then the time begins at that arrival.
std::uint64_t response_time(const Request& request);

/// Returns the response times of the requests that succeeded, ascending.
std::vector<std::uint64_t> response_times(std::span<const Request> requests);

/// Returns how many requests arrived, by the device's clock, before they were due.
std::size_t count_early(std::span<const Request> requests);

/// The number of values v for which from_ns <= v < to_ns.
struct Bin {
    std::uint64_t from_ns;
    std::uint64_t to_ns;
    std::size_t count;
};

/// Returns adjacent bins, from the smallest value to the greatest, whose borders are round numbers.
/// The bins have one width, or, if values spread over more than a power of ten, widths that grow by
/// 1, 2, 5, 10.
std::vector<Bin> histogram(std::span<const std::uint64_t> sorted);

/// Requests a second.
struct Rates {
    double offered; ///< open loop; 0 in a closed one
    double served;  ///< requests that succeeded
    /// Whether fewer requests than offered were served, and the number of unfinished requests grew.
    bool overloaded;
};

Rates rates(const Outcome& outcome, std::uint64_t period_us);

} // namespace overtake::load
