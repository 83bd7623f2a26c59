// SPDX-License-Identifier: MIT
//
// When the tasks of a load arrive.
#pragma once

#include <cstdint>
#include <deque>

#include "simulator/random.hpp"
#include "simulator/scenario.hpp"

namespace overtake::simulator {

/// The arrivals of one load, in order of time. Memory: a closed loop's depth.
class ArrivalSource {
public:
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    /// `load` outlives it.
    ArrivalSource(const Load& load, std::uint64_t seed);

    /// Returns the time of the next arrival; `never` if none is known.
    std::uint64_t next() const { return next_; }
    /// Takes the arrival at next().
    void take();
    /// Called when a task of this load is over: a closed loop begins another.
    void task_ended(std::uint64_t now);

private:
    void find_next();
    std::uint64_t draw();
    std::uint64_t whole(double gap);

    const Load* load_;
    Random random_;
    std::uint64_t taken_ = 0;
    std::uint64_t base_;              ///< what the next gap is added to
    double carried_ = 0;              ///< rest of the gaps so far, below 1 us
    std::deque<std::uint64_t> begun_; ///< closed loop: arrivals to come
    std::uint64_t next_ = never;
};

} // namespace overtake::simulator
