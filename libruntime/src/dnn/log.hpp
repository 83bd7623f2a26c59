// SPDX-License-Identifier: MIT
//
// Lines on standard error, in the amount that HB_DNN_LOG_LEVEL asks for.
#pragma once

#include <string>

namespace overtake::dnn {

/// The numbers of HB_DNN_LOG_LEVEL.
enum class LogLevel : int { none = 0, debug = 1, info = 2, warning = 3, error = 4, fatal = 5 };

/// Lines of lower levels are not written; with LogLevel::none, no line is.  Thread safe.
void set_log_level(LogLevel level) noexcept;

/// Writes one line, in one system call.  Thread safe; never fails.
void log(LogLevel level, const std::string& text) noexcept;

} // namespace overtake::dnn
