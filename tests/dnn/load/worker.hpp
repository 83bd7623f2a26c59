// SPDX-License-Identifier: MIT
//
// The load of one process.
#pragma once

#include <cstdint>

namespace overtake::test {

struct LoadOptions {
    unsigned threads = 8;
    unsigned tasks = 1000; ///< of each thread
    std::uint64_t seed = 1;
    unsigned refused_per_mille = 0; ///< of the library's allocations
};

/// Runs the load, and prints its counts and faults.  Returns false if there is a fault.
bool run_load(const LoadOptions& options);

} // namespace overtake::test
