// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <tuple>

namespace overtake::fuzz {

/// Receiver of a wake-up.
enum class WakeKind { core, timer, doorbell, backstop, cpu };

/// Wake-ups are ordered by time, and at the same time by the order of the requests.
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
