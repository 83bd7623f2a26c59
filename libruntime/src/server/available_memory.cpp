// SPDX-License-Identifier: MIT
#include "server/available_memory.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace overtake::server {

namespace {

namespace fs = std::filesystem;

/// Returns nullopt for "max", and if there is no such file.
std::optional<std::size_t> number_in(const fs::path& file) {
    std::ifstream in(file);
    std::string text;
    if (!(in >> text))
        return std::nullopt;
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

void tighten(std::optional<std::size_t>& limit, std::optional<std::size_t> other) {
    if (other && (!limit || *other < *limit))
        limit = other;
}

/// Returns the tightest limit of a group and of the groups above it.  In a container the group's
/// path may begin above the mounted directory: then the mounted root is the container's own group.
std::optional<std::size_t> tightest(const fs::path& mounted, const fs::path& group,
                                    const char* file) {
    std::optional<std::size_t> limit;
    for (fs::path at = group.relative_path();; at = at.parent_path()) {
        tighten(limit, number_in(mounted / at / file));
        if (at.empty())
            return limit;
    }
}

bool names_memory(const std::string& controllers) {
    std::istringstream list(controllers);
    for (std::string name; std::getline(list, name, ',');)
        if (name == "memory")
            return true;
    return false;
}

} // namespace

std::optional<std::size_t> cgroup_memory_limit(const std::string& groups, const std::string& root) {
    std::optional<std::size_t> limit;
    std::istringstream lines(groups);
    for (std::string line; std::getline(lines, line);) { // number:controllers:path
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const fs::path group = line.substr(second + 1);
        if (controllers.empty()) { // version 2, alone or beside version 1
            tighten(limit, tightest(root, group, "memory.max"));
            tighten(limit, tightest(fs::path(root) / "unified", group, "memory.max"));
        } else if (names_memory(controllers)) {
            tighten(limit, tightest(fs::path(root) / "memory", group, "memory.limit_in_bytes"));
        }
    }
    return limit;
}

std::size_t memory_of_this_machine() {
    const std::size_t physical = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                                 static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::ifstream in("/proc/self/cgroup");
    const std::string groups{std::istreambuf_iterator<char>(in), {}};
    return std::min(physical, cgroup_memory_limit(groups, "/sys/fs/cgroup").value_or(physical));
}

} // namespace overtake::server
