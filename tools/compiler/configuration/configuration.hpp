// SPDX-License-Identifier: MIT
//
// Reads a YAML file that describes a compilation, with the key names of hb_mapper.
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
    /// The board that `march` names.  No profile has the figures of a board, so `compile.profile`
    /// is the default.  Empty if `march` names a profile.
    std::string board;
    /// All faults and warnings, in the order of the lines.  If there is a fault, the other members
    /// must not be used.
    std::vector<ConfigurationProblem> problems;
};

/// Reads a configuration.  Paths in it are relative to the file's directory.  A key without a value
/// asks for its default.  A key that only tunes a board's compiler gives a warning that names the
/// substitute; an unknown key is a fault that names the nearest known one.  Throws
/// CompileError where the file cannot be read or is no YAML.
Configuration read_configuration(const std::string& path);

} // namespace overtake::compiler
