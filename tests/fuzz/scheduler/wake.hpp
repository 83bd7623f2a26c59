// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <tuple>

namespace overtake::fuzz {

/// Whom a wake-up is for.
enum class WakeKind { core, timer, doorbell, backstop, cpu };

/// In order of time, and of the same time as they were asked for.
struct Wake {
    std::uint64_t time;
    std::uint64_t order;
    WakeKind kind;
    std::uint32_t number; ///< core from 1, or task

    bool operator>(const Wake& other) const {
        return std::tie(time, order) > std::tie(other.time, other.order);
    }
};

} // namespace overtake::fuzz
