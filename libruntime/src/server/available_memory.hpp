// SPDX-License-Identifier: MIT
//
// The memory that the system lets this process use.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace overtake::server {

/// The lowest limit of this process's control groups and of those above them, in bytes; nothing if
/// there is none.  `groups`: the text of /proc/self/cgroup.  `root`: the folder where control
/// groups are mounted.
std::optional<std::size_t> cgroup_memory_limit(const std::string& groups, const std::string& root);

/// Bytes that this process may use: the machine's physical memory, or a control group's limit if
/// that is lower.
std::size_t memory_of_this_machine();

} // namespace overtake::server
