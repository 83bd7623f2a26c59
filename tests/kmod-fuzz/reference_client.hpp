// SPDX-License-Identifier: MIT
// The well-behaved client: its jobs must be right whatever the other clients do.
#pragma once

#include "shared.hpp"

namespace overtake::fuzz {

// For each token from @request_fd (an eventfd semaphore), runs a job with a known result of each
// opcode that computes; returns when @shared.stop is set. Ends the process with status 1 and prints
// why when the status or the bytes of a job are wrong.
void reference_client(const Options& options, Shared& shared, int request_fd);

} // namespace overtake::fuzz
