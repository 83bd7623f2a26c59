// SPDX-License-Identifier: MIT
//
// How the process of a device server uses the allocator.
#pragma once

namespace overtake::command {

/// What clients give back goes back to the system, or to the next client.  Before there are other
/// threads.
void keep_little_memory();

} // namespace overtake::command
