// SPDX-License-Identifier: MIT
//
// Compilation described by a YAML file, with the key names of hb_mapper.
#pragma once

#include <string>

#include "compiler/compile.hpp"

namespace overtake::compiler {

struct Configuration {
    CompileOptions compile;
    std::string output; ///< path of the model file
    std::string report; ///< directory for reports; empty: none
};

/// Reads a configuration.  Paths in it are relative to the file's directory.  Every key either has
/// its effect or is refused with the reason; unknown ones are refused with the nearest known one.
/// Throws CompileError, "FILE:LINE: what is wrong".
Configuration read_configuration(const std::string& path);

} // namespace overtake::compiler
