// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

#include "compiler/compile.hpp"

namespace overtake::command {

/// Adds the options of overtake compile that say from which samples ranges are chosen, and how.
void add_calibration(CLI::App& command, const std::shared_ptr<compiler::CompileOptions>& options);

} // namespace overtake::command
