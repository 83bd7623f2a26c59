// SPDX-License-Identifier: MIT
// What a fuzz run was worth.
#pragma once

#include <cstdint>

#include "shared.hpp"

namespace overtake::fuzz {

// Prints how often each kind of call succeeded, and what with the others were refused. False,
// saying why, if a reference job is missing, an answer was not documented or most calls of a main
// kind, or most jobs, were refused.
bool report(const Options& options, const Shared& shared, int64_t seconds, uint32_t killed);

// The last call of each thread of clients, and where it is in the kernel.
void print_stacks(const Shared& shared, uint32_t clients);

} // namespace overtake::fuzz
