// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace CLI {
class App;
}

namespace overtake::command {

/// A subcommand and its place in the help.
struct Subcommand {
    void (*add)(CLI::App& app, int& status); ///< adds it to the command line (commands.hpp)
    const char* group;                       ///< the group in which --help lists it
    const char* example;                     ///< the example with which its own --help begins
};

/// Parses a command line that may name any of `commands`, which --help lists in this order and by
/// group. Runs the command that it names and returns the exit status: 0, 1 for a failure, or 2 for
/// wrong usage, which a line on stderr explains. An empty command line shows --help.
int run_command_line(int argc, char** argv, std::span<const Subcommand> commands);

} // namespace overtake::command
