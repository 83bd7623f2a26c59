// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace CLI {
class App;
}

namespace overtake::command {

/// Hangs one subcommand into the command line (commands.hpp).
using AddCommand = void (*)(CLI::App& app, int& status);

/// Parses a command line that may name any of `commands`, which --help lists in this order; runs
/// the one it names and returns the exit status: 0, 1 for what failed or 2 for wrong usage, which a
/// line on stderr explains.
int run_command_line(int argc, char** argv, std::span<const AddCommand> commands);

} // namespace overtake::command
