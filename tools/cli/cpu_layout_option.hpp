// SPDX-License-Identifier: MIT
//
// --cpu-layout
#pragma once

#include <CLI/CLI.hpp>

#include "overtake/cpu_layout.hpp"

namespace overtake::command {

/// Adds the option, which sets `layout`.
void add_cpu_layout_option(CLI::App& command, CpuLayout& layout);

} // namespace overtake::command
