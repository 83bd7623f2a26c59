// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace overtake::compiler {

/// What libonnx says, without its source files and assertions, in this compiler's words where users
/// meet it.
std::string plain_message(const std::string& message);

} // namespace overtake::compiler
