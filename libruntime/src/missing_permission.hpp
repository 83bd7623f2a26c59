// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace overtake {

/// Which permission this process lacks to connect to the socket, and who can give it; empty if it
/// lacks none.
std::string missing_permission(const std::string& socket);

} // namespace overtake
