// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace overtake::command {

/// Creates or replaces a file with what `write` writes: whole or not at all. Throws Error naming the
/// file and the reason (e.g. a full disk).
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

} // namespace overtake::command
