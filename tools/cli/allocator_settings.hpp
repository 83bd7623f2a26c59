// SPDX-License-Identifier: MIT
//
// The settings of the allocator in the process of a device server.
#pragma once

namespace overtake::command {

/// Makes the allocator return freed memory to the system, or give it to the next client. Call it
/// before other threads are started.
void keep_little_memory();

} // namespace overtake::command
