// SPDX-License-Identifier: MIT
//
// --cpu-layout and --cpu-threads
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "overtake/cpu_layout.hpp"

namespace overtake::command {

/// Adds the option, which sets `layout`.
void add_cpu_layout_option(CLI::App& command, CpuLayout& layout);
/// Adds the option with its own purpose and without a default.
CLI::Option* add_cpu_layout_option(CLI::App& command, std::function<void(CpuLayout)> choose,
                                   const std::string& text);

/// Adds the option, which sets `threads`.
void add_cpu_threads_option(CLI::App& command, unsigned& threads);

} // namespace overtake::command
