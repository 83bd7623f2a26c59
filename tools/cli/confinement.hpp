// SPDX-License-Identifier: MIT
//
// What a device server may still ask of the kernel once it serves.
#pragma once

#include <string>

namespace overtake::command {

/// From now on every thread of this process may only talk to who is connected, use memory and wait:
/// it opens no file, makes no connection, starts no program and maps nothing that could be executed
/// (seccomp; other system calls fail with EPERM).  It may remove files, since its socket is one.
/// There is no way back.  Empty if that is so, otherwise why not.
std::string confine_server();

} // namespace overtake::command
