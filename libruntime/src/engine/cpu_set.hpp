// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <sched.h>
#include <string>
#include <vector>

#include "overtake/error.hpp"

namespace overtake::engine {

/// Throws Error EINVAL for a number that is too large for any CPU.
inline cpu_set_t cpu_set_of(const std::vector<unsigned>& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : cpus) {
        if (cpu >= CPU_SETSIZE)
            throw Error(EINVAL, "engine: there is no CPU " + std::to_string(cpu));
        CPU_SET(cpu, &set);
    }
    return set;
}

} // namespace overtake::engine
