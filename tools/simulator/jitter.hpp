// SPDX-License-Identifier: MIT
//
// Jitter: execution times that differ from run to run.
#pragma once

#include <cstdint>

namespace overtake::simulator {

/// Determines the number that is drawn for an FC or CPU segment, whatever was drawn before: the
/// times of a task do not depend on the time and the core at which the task runs.
struct JitterKey {
    std::uint64_t seed;
    std::uint64_t source; ///< number of the load; ~0: the listed tasks
    std::uint64_t number; ///< number of the arrival in its source
    std::uint64_t segment;
    std::uint64_t fc;
};

/// A distribution of factors whose mean is 1.
struct Jitter {
    enum class Shape : std::uint8_t { none, uniform, log_normal };

    Shape shape = Shape::none;
    double width = 0; ///< uniform: from 1 - width to 1 + width; log_normal: sigma of the logarithm

    /// Returns `time` times a factor, in whole ticks: at least 1, at most 2^63.
    std::uint64_t of(std::uint64_t time, const JitterKey& key) const;
};

} // namespace overtake::simulator
