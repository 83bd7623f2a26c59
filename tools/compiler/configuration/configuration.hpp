// SPDX-License-Identifier: MIT
//
// Compilation described by a YAML file, with the key names of hb_mapper.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "compiler/configuration/problems.hpp"

namespace overtake::compiler {

struct Configuration {
    CompileOptions compile;
    std::string output; ///< path of the model file
    std::string report; ///< directory for reports; empty: none
    /// What `march` names, if that is a board: no profile has its figures, and `compile.profile` is
    /// the default.
    std::string board;
    /// All faults and warnings, in the order of the lines.  With a fault among them, the rest is
    /// not to be used.
    std::vector<ConfigurationProblem> problems;
};

/// Reads a configuration.  Paths in it are relative to the file's directory.  A key without a value
/// asks for its default.  Keys that only tune a board's compiler warn about what is done instead;
/// unknown ones are faults that name the nearest known one.  Throws CompileError where the file
/// cannot be read or is no YAML.
Configuration read_configuration(const std::string& path);

} // namespace overtake::compiler
