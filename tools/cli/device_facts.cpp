// SPDX-License-Identifier: MIT
#include "device_facts.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "overtake/core_profiles.hpp"

namespace overtake::command {
namespace {

constexpr const char* first_node = "/dev/accel/accel0";

std::string core_limit_words(const std::vector<unsigned>& limits) {
    const std::set<unsigned> different(limits.begin(), limits.end());
    if (different.empty())
        return "core limit unknown";
    if (different.size() == 1)
        return fmt::format("core limit {}", limits.front());
    return fmt::format("core limits {}", fmt::join(limits, ", "));
}

std::string known(const std::string& name) {
    return name.empty() ? "unknown" : name;
}

nlohmann::ordered_json null_if_empty(const std::string& text) {
    return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

} // namespace

unsigned mode_number(const std::string& mode) {
    if (mode == "timed")
        return OVERTAKE_MODE_TIMED;
    return mode == "both" ? OVERTAKE_MODE_BOTH : OVERTAKE_MODE_FUNCTIONAL;
}

std::string node_of(std::string_view device_name) {
    if (device_name.starts_with('/'))
        return std::string(device_name);
    std::error_code ignored;
    const bool is_kernel = device_name == "kernel" ||
                           (device_name == "auto" && std::filesystem::exists(first_node, ignored));
    return is_kernel ? first_node : "";
}

DeviceFacts facts_of(const Device& device, const std::string& path,
                     const EmbeddedOptions& embedded) {
    DeviceFacts facts;
    facts.path = path;
    facts.backend = device.backend();
    const drm_overtake_device_info info = device.info();
    facts.mode = name_of_mode(info.mode);
    facts.cores = info.core_count;
    for (const drm_overtake_core_info& core : device.cores())
        facts.core_limits.push_back(core.core_limit);
    if (const auto profiles = device.core_profiles(); !are_alike(profiles)) {
        facts.profile = joined_names(profiles);
        return facts;
    }
    if (path.empty()) {
        if (facts.backend != "server") // with equal cores, the profile is not shown
            facts.profile = embedded.profile;
        return facts;
    }
    // The driver reports a profile's numbers, sysfs its name.
    facts.profile = profile_of_node(path);
    return facts;
}

std::string one_line(const DeviceFacts& facts) {
    const std::string what = facts.backend == "server" ? "device of a server"
                             : facts.path.empty()      ? "embedded device (of this process alone)"
                             : facts.backend.empty()
                                 ? facts.path
                                 : fmt::format("{} through {}", facts.path, facts.backend);
    const bool tells_profile = facts.backend != "server" || !facts.profile.empty();
    return fmt::format("{}, mode {}{}, {} core{}, {}", what, known(facts.mode),
                       tells_profile ? ", profile " + known(facts.profile) : "", facts.cores,
                       facts.cores == 1 ? "" : "s", core_limit_words(facts.core_limits));
}

nlohmann::ordered_json to_json(const DeviceFacts& facts) {
    return {{"path", null_if_empty(facts.path)},
            {"backend", null_if_empty(facts.backend)},
            {"mode", null_if_empty(facts.mode)},
            {"profile", null_if_empty(facts.profile)},
            {"cores", facts.cores},
            {"core_limits", facts.core_limits}};
}

} // namespace overtake::command
