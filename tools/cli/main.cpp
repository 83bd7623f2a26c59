// SPDX-License-Identifier: MIT
//
// The overtake command. Each subcommand has a file.
#include "command_line.hpp"
#include "commands.hpp"
#include "compiler/float/onednn.hpp"
#include "process.hpp"

int main(int argc, char** argv) {
    using namespace overtake::command;
    prepare_process();
    overtake::compiler::keep_no_primitives();
    return run_command_line(argc, argv, all_commands);
}
