// SPDX-License-Identifier: MIT
//
// The subcommands. Each add_X() hangs itself into the command line; when chosen, it runs and sets
// `status` to the exit status. They report failure by throwing overtake::Error, which
// run_command_line() turns into one line on stderr and exit status 1.
#pragma once

#include <array>
#include <cstdint>

#include <CLI/CLI.hpp>

#include "command_line.hpp"

namespace overtake::command {

/// How long run and perf let a request be in flight on an embedded device.
constexpr std::uint64_t longest_run_ns = 600'000'000'000;

void add_calibrate(CLI::App& app, int& status);
void add_cdi(CLI::App& app, int& status);
void add_compile(CLI::App& app, int& status);
/// The same with --balance measured, which needs more of the compiler.
void add_compile_measuring(CLI::App& app, int& status);
void add_compare(CLI::App& app, int& status);
void add_devices(CLI::App& app, int& status);
void add_completion(CLI::App& app, int& status);
void add_info(CLI::App& app, int& status);
void add_latency(CLI::App& app, int& status);
void add_metrics(CLI::App& app, int& status);
void add_pack(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_perf(CLI::App& app, int& status);
void add_profile(CLI::App& app, int& status);
void add_serve(CLI::App& app, int& status);
void add_sim(CLI::App& app, int& status);
void add_sweep_merge(CLI::App& app, int& status);
void add_top(CLI::App& app, int& status);
void add_trace(CLI::App& app, int& status);
/// Predicts only.
void add_demo(CLI::App& app, int& status);
/// The same, and measures on a device.
void add_demo_measuring(CLI::App& app, int& status);

/// Those of the overtake command, in the order of --help.
inline constexpr std::array all_commands{add_compile_measuring,
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

} // namespace overtake::command
