// SPDX-License-Identifier: MIT
//
// The part of the overtake command that prints the first table of `make demo`, and nothing else. It
// is built first, so that the table comes early (scripts/demo.sh). It is not installed.
#include <array>

#include "command_line.hpp"
#include "commands.hpp"
#include "process.hpp"

int main(int argc, char** argv) {
    using namespace overtake::command;
    prepare_process();
    constexpr std::array commands{Subcommand{add_compile, "Commands", "overtake compile net.onnx"},
                                  Subcommand{add_demo, "Commands", "overtake demo --predict"}};
    return run_command_line(argc, argv, commands);
}
