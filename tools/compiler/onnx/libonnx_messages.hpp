// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace overtake::compiler {

/// Returns a message of libonnx without its source files and assertions.  Messages that users get
/// are in this compiler's words.
std::string plain_message(const std::string& message);

} // namespace overtake::compiler
