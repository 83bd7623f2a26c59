// SPDX-License-Identifier: MIT
// The verdict on a fuzz run.
#pragma once

#include <cstdint>

#include "shared.hpp"

namespace overtake::fuzz {

// Prints how often each kind of call succeeded, and the errors of the others. Returns false, and
// prints why, if a reference job is missing, an error was not documented, or most calls of a main
// kind or most jobs were refused.
bool report(const Options& options, const Shared& shared, int64_t seconds, uint32_t killed);

// Prints the last call of each thread of the clients, and its stack in the kernel.
void print_stacks(const Shared& shared, uint32_t clients);

} // namespace overtake::fuzz
