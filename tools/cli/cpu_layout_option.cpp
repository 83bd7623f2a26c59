// SPDX-License-Identifier: MIT
#include "cpu_layout_option.hpp"

#include <map>
#include <string>
#include <utility>

#include "option_checks.hpp"

namespace overtake::command {

CLI::Option* add_cpu_layout_option(CLI::App& command, std::function<void(CpuLayout)> choose,
                                   const std::string& text) {
    static const std::map<std::string, CpuLayout> layouts = {{"auto", CpuLayout::automatic},
                                                             {"planes", CpuLayout::planes},
                                                             {"blocked", CpuLayout::blocked}};
    return command
        .add_option_function<std::string>(
            "--cpu-layout",
            [choose = std::move(choose)](const std::string& name) { choose(layouts.at(name)); },
            text)
        ->check(one_of({"auto", "planes", "blocked"}));
}

void add_cpu_layout_option(CLI::App& command, CpuLayout& layout) {
    add_cpu_layout_option(
        command, [&layout](CpuLayout chosen) { layout = chosen; },
        "How values between operators of the CPU lie in memory: auto, planes or blocked; "
        "results are the same")
        ->default_str("auto");
}

void add_cpu_threads_option(CLI::App& command, unsigned& threads) {
    command
        .add_option("--cpu-threads", threads,
                    "Threads that compute a convolution or a matrix product of the CPU")
        ->check(whole_number(1, 64))
        ->capture_default_str();
}

} // namespace overtake::command
