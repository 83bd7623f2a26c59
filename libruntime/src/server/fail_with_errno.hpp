// SPDX-License-Identifier: MIT
//
// The error of a system call that failed.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "overtake/error.hpp"

namespace overtake::server {

/// Throws Error with the code and its text; `what` names the call or the file.
[[noreturn]] inline void fail_with_errno(const std::string& what, int code = errno) {
    throw Error(code, fmt::format("{}: {}", what, std::strerror(code)));
}

} // namespace overtake::server
