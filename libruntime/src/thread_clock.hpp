// SPDX-License-Identifier: MIT
//
// CPU time of the calling thread, in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace overtake {

inline std::uint64_t thread_cpu_ns() {
    constexpr std::uint64_t ns_per_s = 1'000'000'000;
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * ns_per_s +
           static_cast<std::uint64_t>(time.tv_nsec);
}

} // namespace overtake
