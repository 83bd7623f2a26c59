// SPDX-License-Identifier: MIT
//
// Options for inputs whose shapes an ONNX file leaves open, and for inputs that get fixed values.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/import/import.hpp"

namespace overtake::command {

/// The arguments as they are on the command line.
struct NetworkOptions {
    std::vector<std::string> shapes; ///< NAME=1x3x224x224
    std::vector<std::string> values; ///< NAME=16000 or NAME=1,2,3
};

void add_network_options(CLI::App& command, NetworkOptions& options);

/// Parses the arguments for the import. Throws CLI::ValidationError for an argument of another
/// form.
void read_network_options(const NetworkOptions& options, compiler::ImportOptions& import);

} // namespace overtake::command
