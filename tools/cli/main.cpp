// SPDX-License-Identifier: MIT
//
// The overtake command: one subcommand a file.
#include <array>

#include "command_line.hpp"
#include "commands.hpp"
#include "compiler/float/onednn.hpp"
#include "process.hpp"

int main(int argc, char** argv) {
    using namespace overtake::command;
    prepare_process();
    overtake::compiler::keep_no_primitives();
    // In the order of --help.
    constexpr std::array commands{add_compile_measuring,
                                  add_info,
                                  add_run,
                                  add_pack,
                                  add_perf,
                                  add_devices,
                                  add_serve,
                                  add_top,
                                  add_trace,
                                  add_latency,
                                  add_metrics,
                                  add_cdi,
                                  add_compare,
                                  add_sim,
                                  add_sweep_merge,
                                  add_calibrate,
                                  add_profile,
                                  add_demo_measuring,
                                  add_completion};
    return run_command_line(argc, argv, commands);
}
