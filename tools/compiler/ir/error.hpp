// SPDX-License-Identifier: MIT
//
// The errors of the compiler: one line, "PLACE: what is wrong; remedy".
#pragma once

#include <cerrno>
#include <string>

#include "overtake/device.hpp"

namespace overtake::compiler {

class CompileError : public Error {
public:
    CompileError(const std::string& place, const std::string& what)
        : Error(EINVAL, place + ": " + what) {}
};

/// The compiled form exceeds a limit of the device; another form of the same network may not.
class LimitError : public CompileError {
public:
    using CompileError::CompileError;
};

inline bool is_control(char character) {
    return static_cast<unsigned char>(character) < ' ' || character == 0x7f;
}

/// Returns the text in one line, without control characters: libonnx reports in several lines.
inline std::string one_line(const std::string& text) {
    std::string line;
    for (char character : text) {
        const bool is_space = is_control(character) || character == ' ';
        if (!is_space)
            line += character;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    while (!line.empty() && line.back() == ' ')
        line.pop_back();
    return line;
}

} // namespace overtake::compiler
