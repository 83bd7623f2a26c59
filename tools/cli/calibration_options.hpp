// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

#include "compiler/compile.hpp"

namespace overtake::command {

/// Adds the options of overtake compile for the samples and the method by which ranges are chosen.
void add_calibration(CLI::App& command, const std::shared_ptr<compiler::CompileOptions>& options);

} // namespace overtake::command
