// SPDX-License-Identifier: MIT
#include "cpu_layout_option.hpp"

#include <map>
#include <string>

#include "option_checks.hpp"

namespace overtake::command {

void add_cpu_layout_option(CLI::App& command, CpuLayout& layout) {
    static const std::map<std::string, CpuLayout> layouts = {{"auto", CpuLayout::automatic},
                                                             {"planes", CpuLayout::planes},
                                                             {"blocked", CpuLayout::blocked}};
    command
        .add_option_function<std::string>(
            "--cpu-layout", [&layout](const std::string& name) { layout = layouts.at(name); },
            "How values between operators of the CPU lie in memory: auto, planes or blocked; "
            "results are the same")
        ->default_str("auto")
        ->check(one_of({"auto", "planes", "blocked"}));
}

} // namespace overtake::command
