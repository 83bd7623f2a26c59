// SPDX-License-Identifier: MIT
//
// Device nodes as /dev and sysfs show them, also to users who may not open them.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "device_facts.hpp"
#include "observe/metrics/sysfs.hpp"
#include "overtake/server.hpp"

namespace overtake::command {
namespace {

namespace fs = std::filesystem;

std::string user_name(uid_t id) {
    const passwd* entry = getpwuid(id);
    return entry ? entry->pw_name : std::to_string(id);
}

std::string group_name(gid_t id) {
    const group* entry = getgrgid(id);
    return entry ? entry->gr_name : std::to_string(id);
}

void read_settings(const fs::path& sys, Node& node) {
    std::error_code ignored;
    const std::string name = fs::path(node.facts.path).filename();
    node.driver = fs::canonical(sys / "class/accel" / name / "device/driver", ignored).filename();
    const auto device = sysfs::device_of(sys, name);
    if (!device)
        return;
    node.facts.mode = sysfs::module_parameter(sys, "mode", device->number);
    node.facts.profile = sysfs::module_parameter(sys, "profile", device->number);
    for (const fs::path& core : sysfs::numbered(device->directory, "core")) {
        const std::string limit = sysfs::first_line(core / "core_limit_active");
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

/// Returns the remedy for a user who may not open the node.
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

std::optional<DeviceServer> find_server() {
    DeviceServer server;
    server.socket = default_server_path();
    std::error_code reason;
    if (!fs::exists(server.socket, reason) && reason != std::errc::permission_denied)
        return std::nullopt;
    try {
        const auto device = open_server(server.socket);
        server.facts = facts_of(*device, "", {});
        server.may_use_255 = may_use_255(*device);
    } catch (const Error& error) {
        server.refusal = error.what();
    }
    return server;
}

std::string profile_of_node(const std::string& path, const fs::path& sys) {
    Node node;
    node.facts.path = path;
    read_settings(sys, node);
    return node.facts.profile;
}

std::vector<std::string> unlike_profiles_of_node(const std::string& path, const fs::path& sys) {
    std::vector<std::string> names;
    std::istringstream list(profile_of_node(path, sys));
    for (std::string name; std::getline(list, name, '+');)
        names.push_back(name);
    if (std::ranges::all_of(names, [&](const auto& name) { return name == names.front(); }))
        return {};
    return names;
}

DeviceRules rules_of_node(const std::string& path, const fs::path& sys) {
    DeviceRules rules;
    const auto device = sysfs::device_of(sys, fs::path(path).filename());
    if (!device)
        return rules;
    const std::string fair = sysfs::module_parameter(sys, "fair", device->number);
    rules.fair = fair == "Y" || fair == "1";
    for (const fs::path& core : sysfs::numbered(device->directory, "core")) {
        const std::string floor = sysfs::first_line(core / "normal_floor");
        rules.normal_floors.push_back(
            static_cast<std::uint32_t>(std::strtoul(floor.c_str(), nullptr, 10)));
    }
    return rules;
}

std::vector<Node> find_nodes(const fs::path& dev, const fs::path& sys) {
    std::vector<Node> nodes;
    for (const fs::path& path : sysfs::numbered(dev / "accel", "accel")) {
        Node& node = nodes.emplace_back();
        node.facts.path = path;
        read_owner(node);
        read_settings(sys, node);
        try_to_use(node);
    }
    return nodes;
}

} // namespace overtake::command
