// SPDX-License-Identifier: MIT
//
// What a device is: its settings, and of a node who may use it.
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

/// Settings; what cannot be found out is empty or 0.
struct DeviceFacts {
    std::string path;    ///< of its node; empty = embedded
    std::string backend; ///< as Device::backend(); empty if it is not open
    std::string mode;
    std::string profile; ///< of each core, joined by '+', where they are unlike
    unsigned cores = 0;
    std::vector<unsigned> core_limits; ///< in force, by core
};

/// Of an open device. `path` is its node's, empty for an embedded one of `embedded.profile`.
DeviceFacts facts_of(const Device& device, const std::string& path,
                     const EmbeddedOptions& embedded);

/// "embedded device (of this process alone), mode timed, profile default, 2 cores, core limit 0"
std::string one_line(const DeviceFacts& facts);

nlohmann::ordered_json to_json(const DeviceFacts& facts);

/// The node that a device's name means, as open_device() takes it; empty = embedded.
std::string node_of(std::string_view device_name);

using metrics::name_of_mode;
/// The other way round; one of the three names.
unsigned mode_number(const std::string& mode);

/// A node below /dev/accel, whether this process may open it or not.
struct Node {
    DeviceFacts facts;  ///< from sysfs, but for the backend
    std::string driver; ///< as sysfs has it; empty if it does not tell
    std::string owner, group;
    unsigned permissions = 0; ///< as chmod takes them
    bool is_usable = false;
    std::string refusal; ///< why not, and what to do
    /// Whether this process may use priority 255; nothing if the device cannot be opened.
    std::optional<bool> may_use_255;
};

/// What decides who goes first on a device besides the core limits.
struct DeviceRules {
    bool fair = false;                          ///< contexts take turns
    std::vector<std::uint32_t> normal_floors{}; ///< by core; fewer: 0
};

/// A device server, whether this process may use its device or not.
struct DeviceServer {
    std::string socket;
    DeviceFacts facts;   ///< empty if the server cannot be used
    std::string refusal; ///< why not, and what to do; empty if it can be used
    bool may_use_255 = false;
};

/// The server of OVERTAKE_SERVER or of the usual place; nothing if no socket is there.
std::optional<DeviceServer> find_server();

/// From sysfs.
DeviceRules rules_of_node(const std::string& path, const std::filesystem::path& sys = "/sys");

/// The name of a node's profile, from sysfs; empty if it does not tell.
std::string profile_of_node(const std::string& path, const std::filesystem::path& sys = "/sys");

/// Those of its cores, from sysfs; empty where they are alike, or if it does not tell.
std::vector<std::string> unlike_profiles_of_node(const std::string& path,
                                                 const std::filesystem::path& sys = "/sys");

/// The nodes in `dev`/accel, by number, with what `sys` tells of them.
std::vector<Node> find_nodes(const std::filesystem::path& dev = "/dev",
                             const std::filesystem::path& sys = "/sys");

} // namespace overtake::command
