// SPDX-License-Identifier: MIT
//
// --record-level
#pragma once

#include <CLI/CLI.hpp>

namespace overtake::command {

/// Adds the option, which sets `level`.
void add_record_option(CLI::App& command, unsigned& level);

} // namespace overtake::command
