// SPDX-License-Identifier: MIT
//
// Device nodes as /dev and sysfs show them, also to those who may not open them.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "device_facts.hpp"

namespace overtake::command {
namespace {

namespace fs = std::filesystem;

constexpr const char* driver_name = "overtake";

std::string user_name(uid_t id) {
    const passwd* entry = getpwuid(id);
    return entry ? entry->pw_name : std::to_string(id);
}

std::string group_name(gid_t id) {
    const group* entry = getgrgid(id);
    return entry ? entry->gr_name : std::to_string(id);
}

/// Empty if it cannot be read.
std::string first_line(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// N of "accelN", "coreN" or "overtake.N"; nothing for other names.
std::optional<unsigned> number_behind(const std::string& prefix, const std::string& name) {
    if (!name.starts_with(prefix))
        return std::nullopt;
    const std::string digits = name.substr(prefix.size());
    if (digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
        return std::nullopt;
    return static_cast<unsigned>(std::stoul(digits));
}

/// Entries of a directory whose names are the prefix and a number, by number.
std::vector<fs::path> numbered(const fs::path& directory, const std::string& prefix) {
    std::vector<std::pair<unsigned, fs::path>> found;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored))
        if (const auto number = number_behind(prefix, entry.path().filename()))
            found.emplace_back(*number, entry.path());
    std::ranges::sort(found);
    std::vector<fs::path> paths;
    for (auto& [number, path] : found)
        paths.push_back(std::move(path));
    return paths;
}

/// Of a module parameter that is a list with a value for each device; the last one also holds for
/// the devices behind it.
std::string parameter(const fs::path& sys, const char* name, unsigned device) {
    std::istringstream list(first_line(sys / "module" / driver_name / "parameters" / name));
    std::string value;
    for (unsigned index = 0; index <= device; index++)
        if (!std::getline(list, value, ','))
            break;
    return value;
}

void read_settings(const fs::path& sys, Node& node) {
    std::error_code ignored;
    const fs::path link = sys / "class/accel" / fs::path(node.facts.path).filename() / "device";
    const fs::path device = fs::canonical(link, ignored);
    node.driver = fs::canonical(link / "driver", ignored).filename();
    if (node.driver != driver_name)
        return;
    const auto number = number_behind(std::string(driver_name) + ".", device.filename());
    node.facts.mode = parameter(sys, "mode", number.value_or(0));
    node.facts.profile = parameter(sys, "profile", number.value_or(0));
    for (const fs::path& core : numbered(device, "core")) {
        const std::string limit = first_line(core / "core_limit_active");
        node.facts.cores++;
        node.facts.core_limits.push_back(
            static_cast<unsigned>(std::strtoul(limit.c_str(), nullptr, 10)));
    }
}

void read_owner(Node& node) {
    struct stat status {};
    if (stat(node.facts.path.c_str(), &status) != 0)
        return;
    node.owner = user_name(status.st_uid);
    node.group = group_name(status.st_gid);
    node.permissions = status.st_mode & 07777;
}

/// What helps who may not open the node.
std::string remedy(const Node& node) {
    constexpr unsigned group_may = S_IRGRP | S_IWGRP;
    if ((node.permissions & group_may) == group_may && node.group != "root")
        return fmt::format("join its group (sudo usermod -aG {} {}) and log in again, or run as "
                           "root",
                           node.group, user_name(geteuid()));
    return fmt::format("run as root, or give it to a group that you are in (sudo chgrp render {0} "
                       "&& sudo chmod 660 {0})",
                       node.facts.path);
}

bool may_use_255(Device& device) {
    try {
        device.create_queue({.max_priority = priority_high});
        return true;
    } catch (const Error& error) {
        if (error.code() == EPERM || error.code() == EACCES)
            return false;
        throw;
    }
}

void try_to_use(Node& node) {
    const int fd = open(node.facts.path.c_str(), O_RDWR | O_CLOEXEC);
    const int code = errno;
    if (fd >= 0)
        close(fd);
    if (fd < 0 && (code == EACCES || code == EPERM)) {
        node.refusal = fmt::format("{}: {}", std::strerror(code), remedy(node));
        return;
    }
    try {
        const auto device = open_kernel(node.facts.path);
        node.facts.backend = device->backend();
        node.is_usable = true;
        node.may_use_255 = may_use_255(*device);
    } catch (const Error& error) {
        node.refusal = error.what();
    }
}

} // namespace

std::string profile_of_node(const std::string& path, const fs::path& sys) {
    Node node;
    node.facts.path = path;
    read_settings(sys, node);
    return node.facts.profile;
}

std::vector<Node> find_nodes(const fs::path& dev, const fs::path& sys) {
    std::vector<Node> nodes;
    for (const fs::path& path : numbered(dev / "accel", "accel")) {
        Node& node = nodes.emplace_back();
        node.facts.path = path;
        read_owner(node);
        read_settings(sys, node);
        try_to_use(node);
    }
    return nodes;
}

} // namespace overtake::command
