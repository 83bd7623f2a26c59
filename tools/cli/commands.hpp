// SPDX-License-Identifier: MIT
//
// The subcommands. Each add_X() adds a subcommand to the command line. When the user chooses it, it
// runs and sets `status` to the exit status. It reports failure by throwing overtake::Error, which
// run_command_line() turns into one line on stderr and exit status 1.
#pragma once

#include <array>
#include <cstdint>

#include <CLI/CLI.hpp>

#include "command_line.hpp"

namespace overtake::command {

/// The time for which a request of run and perf may be in flight on an embedded device.
constexpr std::uint64_t longest_run_ns = 600'000'000'000;

void add_calibrate(CLI::App& app, int& status);
void add_cdi(CLI::App& app, int& status);
void add_compile(CLI::App& app, int& status);
/// Adds compile with --balance measured, which runs shares of layers to measure them.
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
/// Adds demo, which only predicts.
void add_demo(CLI::App& app, int& status);
/// Adds demo, which also measures on a device.
void add_demo_measuring(CLI::App& app, int& status);

/// The subcommands of overtake, in the order of --help: those that a new user needs come first.
inline constexpr std::array all_commands{
    Subcommand{add_sim, "Begin with", "overtake sim demo-both --sweep core_limit=1..4"},
    Subcommand{add_compile_measuring, "Begin with",
               "overtake compile detector.onnx --calibration images/ --max-time-per-fc 1000"},
    Subcommand{add_run, "Begin with",
               "overtake run detector.ovm --input image.png --output-dir out"},
    Subcommand{add_perf, "Begin with",
               "overtake perf detector.ovm --period-us 10000 --priority 255 --core-limit 1"},
    Subcommand{add_top, "Begin with", "overtake top"},
    Subcommand{add_info, "Models", "overtake info detector.ovm"},
    Subcommand{add_compare, "Models", "overtake compare int8 float --cosine 0.99"},
    Subcommand{add_pack, "Models", "overtake pack detector.ovm classifier.ovm -o both.ovm"},
    Subcommand{add_devices, "Devices", "overtake devices"},
    Subcommand{add_serve, "Devices", "overtake serve --socket /tmp/npu --allow-high $USER"},
    Subcommand{add_cdi, "Devices", "overtake cdi -o /etc/cdi/overtake.json"},
    Subcommand{add_trace, "Watch a device", "overtake trace --duration 2 --perfetto trace.json"},
    Subcommand{add_latency, "Watch a device", "overtake latency --duration 10 --blame 5"},
    Subcommand{add_metrics, "Watch a device", "overtake metrics -o overtake.prom"},
    Subcommand{add_demo_measuring, "Ask what if",
               "overtake demo --detector detector.ovm --large large.ovm --large-split split.ovm "
               "--predict"},
    Subcommand{add_sweep_merge, "Ask what if", "overtake sweep-merge part1 part2 part3 part4"},
    Subcommand{add_calibrate, "Measure this machine", "overtake calibrate -o host.yaml"},
    Subcommand{add_profile, "Measure this machine",
               "overtake profile detector.ovm --processors npu,cpu -o detector.json"},
    Subcommand{add_completion, "", "overtake completion bash"}};

} // namespace overtake::command
