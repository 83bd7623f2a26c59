// SPDX-License-Identifier: MIT
//
// The facts about a device: its settings, and, for a node, who may use it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "observe/metrics/mode_name.hpp"
#include "overtake/device.hpp"

namespace overtake::command {

/// The settings of a device; a setting that is not known is empty or 0.
struct DeviceFacts {
    std::string path;    ///< path of the device's node; empty: embedded
    std::string backend; ///< as Device::backend(); empty: the device is not open
    std::string mode;
    std::string profile; ///< for each core, joined by '+', if the cores differ
    unsigned cores = 0;
    std::vector<unsigned> core_limits; ///< in force, for each core
};

/// Returns the facts of an open device. `path` is its node's, empty for an embedded device of
/// `embedded.profile`.
DeviceFacts facts_of(const Device& device, const std::string& path,
                     const EmbeddedOptions& embedded);

/// Returns "embedded device (of this process alone), mode timed, profile default, 2 cores, core
/// limit 0".
std::string one_line(const DeviceFacts& facts);

nlohmann::ordered_json to_json(const DeviceFacts& facts);

/// Returns the node that a device's name means, as open_device() takes it; empty: embedded.
std::string node_of(std::string_view device_name);

using metrics::name_of_mode;
/// Returns the number of a mode's name, which is one of the three.
unsigned mode_number(const std::string& mode);

/// A node below /dev/accel, whether this process may open it or not.
struct Node {
    DeviceFacts facts;  ///< from sysfs, except the backend
    std::string driver; ///< from sysfs; empty if sysfs does not name it
    std::string owner, group;
    unsigned permissions = 0; ///< as chmod takes them
    bool is_usable = false;
    std::string refusal; ///< why it is not usable, and what to do
    /// Whether this process may use priority 255; nothing if the device cannot be opened.
    std::optional<bool> may_use_255;
};

/// The rules that decide, besides the core limits, which work goes first on a device.
struct DeviceRules {
    bool fair = false;                          ///< contexts take turns
    std::vector<std::uint32_t> normal_floors{}; ///< by core; cores beyond the list have 0
};

/// A device server, whether this process may use its device or not.
struct DeviceServer {
    std::string socket;
    DeviceFacts facts;   ///< empty if the server cannot be used
    std::string refusal; ///< why it cannot be used, and what to do; empty if it can be used
    bool may_use_255 = false;
};

/// Returns the server of OVERTAKE_SERVER or of the usual place; nothing if it has no socket there.
std::optional<DeviceServer> find_server();

/// Returns the rules of a node, from sysfs.
DeviceRules rules_of_node(const std::string& path, const std::filesystem::path& sys = "/sys");

/// Returns the name of a node's profile, from sysfs; empty if sysfs does not name it.
std::string profile_of_node(const std::string& path, const std::filesystem::path& sys = "/sys");

/// Returns the profiles of a node's cores, from sysfs; empty if all are the same, or if sysfs does
/// not name them.
std::vector<std::string> unlike_profiles_of_node(const std::string& path,
                                                 const std::filesystem::path& sys = "/sys");

/// Returns the nodes in `dev`/accel, by number, with the facts that `sys` has about them.
std::vector<Node> find_nodes(const std::filesystem::path& dev = "/dev",
                             const std::filesystem::path& sys = "/sys");

} // namespace overtake::command
