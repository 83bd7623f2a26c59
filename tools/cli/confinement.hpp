// SPDX-License-Identifier: MIT
//
// The system calls that a device server may still make once it serves.
#pragma once

#include <string>

namespace overtake::command {

/// From now on, every thread of this process may only communicate with connected clients, use
/// memory and wait. It cannot open a file, make a connection, start a program or map executable
/// memory (seccomp; other system calls fail with EPERM). It may remove files, since its socket is
/// one. This cannot be undone. Returns "" on success, otherwise the reason.
std::string confine_server();

} // namespace overtake::command
