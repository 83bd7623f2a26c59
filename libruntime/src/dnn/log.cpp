// SPDX-License-Identifier: MIT
#include "dnn/log.hpp"

#include <atomic>
#include <unistd.h>

namespace overtake::dnn {

namespace {

std::atomic<LogLevel> lowest{LogLevel::warning};

const char* name_of(LogLevel level) {
    switch (level) {
    case LogLevel::warning:
        return "warning";
    case LogLevel::error:
        return "error";
    case LogLevel::fatal:
        return "fatal";
    default:
        return "info";
    }
}

} // namespace

void set_log_level(LogLevel level) noexcept {
    lowest = level;
}

void log(LogLevel level, const std::string& text) noexcept {
    const LogLevel wanted = lowest;
    if (wanted == LogLevel::none || level < wanted)
        return;
    try {
        const std::string line = std::string("[dnn] ") + name_of(level) + ": " + text + "\n";
        // There is no place to report a failed write.
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    } catch (const std::bad_alloc&) {
        return;
    }
}

} // namespace overtake::dnn
