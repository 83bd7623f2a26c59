// SPDX-License-Identifier: MIT
#include "simulator/bundled.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "overtake/device.hpp"

namespace overtake::simulator {
namespace {

namespace fs = std::filesystem;

/// Returns the directory beside the command; else that of the source tree, if it exists; else that
/// of the installation. The directory beside a Python interpreter is not used.
fs::path bundled_directory() {
    std::error_code ignored;
    const fs::path command = fs::read_symlink("/proc/self/exe", ignored);
    const fs::path beside =
        command.parent_path().parent_path() / "share" / "overtake" / "scenarios";
    if (!command.filename().string().starts_with("python") && fs::is_directory(beside, ignored))
        return beside;
    if (fs::is_directory(OVERTAKE_SCENARIOS, ignored))
        return OVERTAKE_SCENARIOS;
    return OVERTAKE_INSTALLED_SCENARIOS;
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
    const bool has_folder = name.find('/') != std::string::npos;
    const bool is_file = name.ends_with(".json");
    const fs::path bundled = bundled_directory() / (is_file ? name : name + ".json");
    if (!has_folder && fs::exists(bundled, ignored))
        return bundled;
    if (has_folder || is_file)
        throw Error(ENOENT, fmt::format("{}: no such file", name));
    throw Error(ENOENT,
                fmt::format("{}: no such file, nor is a scenario of that name bundled (overtake "
                            "sim --list names them)",
                            name));
}

} // namespace overtake::simulator
