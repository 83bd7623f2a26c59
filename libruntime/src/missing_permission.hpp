// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace overtake {

/// Returns the permission that this process lacks to connect to the socket, and who can grant it;
/// empty if it lacks none.
std::string missing_permission(const std::string& socket);

} // namespace overtake
