// SPDX-License-Identifier: MIT
#pragma once

namespace overtake::command {

/// Parses a command line, runs its subcommand and returns the exit status: 0, 1 for what failed or
/// 2 for wrong usage, which a line on stderr explains.
int run_command_line(int argc, char** argv);

} // namespace overtake::command
