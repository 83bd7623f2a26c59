// SPDX-License-Identifier: MIT
//
// What the compiler throws: one line, "PLACE: what is wrong; remedy".
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

} // namespace overtake::compiler
