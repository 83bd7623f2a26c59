// SPDX-License-Identifier: MIT
// The client that behaves: whatever the others do, its jobs compute what they should.
#pragma once

#include "shared.hpp"

namespace overtake::fuzz {

// Runs a job of a known result of each opcode that computes, for each token that can be read from
// @request_fd (an eventfd semaphore); returns when @shared.stop is set. Ends the process with
// status 1 and says why when a job's status or bytes are wrong.
void reference_client(const Options& options, Shared& shared, int request_fd);

} // namespace overtake::fuzz
