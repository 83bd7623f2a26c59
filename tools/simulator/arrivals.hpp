// SPDX-License-Identifier: MIT
//
// ArrivalSource: the times at which the tasks of a load arrive.
#pragma once

#include <cstdint>
#include <deque>

#include "simulator/random.hpp"
#include "simulator/scenario.hpp"

namespace overtake::simulator {

/// The arrivals of one load, in order of time. Memory grows with a closed loop's depth.
class ArrivalSource {
public:
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    /// `load` outlives it.
    ArrivalSource(const Load& load, std::uint64_t seed);

    /// Returns the time of the next arrival; `never` if no arrival is known.
    std::uint64_t next() const { return next_; }
    /// Takes the arrival at next().
    void take();
    /// Call it when a task of this load has ended: a closed loop begins another task.
    void task_ended(std::uint64_t now);

private:
    void find_next();
    std::uint64_t draw();
    std::uint64_t whole(double gap);

    const Load* load_;
    Random random_;
    std::uint64_t taken_ = 0;
    std::uint64_t base_;              ///< the time to which the next gap is added
    double carried_ = 0;              ///< the fractions of a tick that were cut off the gaps so far
    std::deque<std::uint64_t> begun_; ///< closed loop: the arrivals to come
    std::uint64_t next_ = never;
};

} // namespace overtake::simulator
