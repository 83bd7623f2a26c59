// SPDX-License-Identifier: MIT
#include "simulator/bundled.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "overtake/device.hpp"

namespace overtake::simulator {
namespace {

namespace fs = std::filesystem;

/// Beside the installed command, or in the source tree of the one that was just built.
fs::path bundled_directory() {
    std::error_code ignored;
    const fs::path command = fs::read_symlink("/proc/self/exe", ignored);
    const fs::path installed =
        command.parent_path().parent_path() / "share" / "overtake" / "scenarios";
    if (fs::is_directory(installed, ignored))
        return installed;
    return OVERTAKE_SCENARIOS;
}

} // namespace

std::vector<std::string> bundled_scenarios() {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(bundled_directory(), ignored))
        if (entry.path().extension() == ".json")
            names.push_back(entry.path().stem());
    std::ranges::sort(names);
    return names;
}

fs::path find_scenario(const std::string& name) {
    std::error_code ignored;
    if (fs::exists(name, ignored))
        return name;
    const bool is_path = name.find('/') != std::string::npos || name.ends_with(".json");
    const fs::path bundled = bundled_directory() / (name + ".json");
    if (!is_path && fs::exists(bundled, ignored))
        return bundled;
    if (is_path)
        throw Error(ENOENT, fmt::format("{}: no such file", name));
    throw Error(ENOENT,
                fmt::format("{}: no such file, nor is a scenario of that name bundled (overtake "
                            "sim --list names them)",
                            name));
}

} // namespace overtake::simulator
