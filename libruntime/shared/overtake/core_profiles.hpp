// SPDX-License-Identifier: MIT
//
// A device's core profiles: whether they are all the same, and which cores run a model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "overtake_accel.h"

namespace overtake {

/// Whether two profiles are the same in every field; the structure has no padding.
inline bool is_like(const drm_overtake_core_profile& one, const drm_overtake_core_profile& other) {
    static_assert(sizeof(one) == OVERTAKE_PROFILE_NAME_BYTES + 6 * sizeof(std::uint32_t) +
                                     2 * sizeof(std::uint64_t));
    return std::memcmp(&one, &other, sizeof(one)) == 0;
}

inline bool are_alike(std::span<const drm_overtake_core_profile> profiles) {
    return std::ranges::all_of(
        profiles, [&](const auto& profile) { return is_like(profile, profiles.front()); });
}

inline std::string_view name_of(const drm_overtake_core_profile& profile) {
    return {profile.name, strnlen(profile.name, sizeof(profile.name))};
}

/// Returns the names as "default+ideal", the form that the module's parameter and overtake serve
/// take.
inline std::string joined_names(std::span<const drm_overtake_core_profile> profiles) {
    std::string text;
    for (const drm_overtake_core_profile& profile : profiles)
        text.append(text.empty() ? "" : "+").append(name_of(profile));
    return text;
}

/// Returns the cores that may take a job that names no core, of a model compiled for `profile`, bit
/// k - 1 for core k: the cores of that name, or, if there are none, those with the profile of core
/// 1.  0: all cores, which have the same profile.
inline std::uint64_t cores_for(std::span<const drm_overtake_core_profile> profiles,
                               std::string_view profile) {
    if (are_alike(profiles))
        return 0;
    std::uint64_t named = 0, like_first = 0;
    for (std::size_t i = 0; i < profiles.size(); i++) {
        named |= std::uint64_t{name_of(profiles[i]) == profile} << i;
        like_first |= std::uint64_t{is_like(profiles[i], profiles.front())} << i;
    }
    return named != 0 ? named : like_first;
}

/// Returns, for each name, a different core of the device with that profile, counted from 1.  Empty
/// if the device has too few of them.
inline std::vector<unsigned> cores_named(std::span<const drm_overtake_core_profile> profiles,
                                         std::span<const std::string_view> names) {
    std::vector<unsigned> cores;
    std::vector<bool> is_taken(profiles.size());
    for (const std::string_view name : names) {
        std::size_t core = 0;
        while (core < profiles.size() && (is_taken[core] || name_of(profiles[core]) != name))
            core++;
        if (core == profiles.size())
            return {};
        is_taken[core] = true;
        cores.push_back(static_cast<unsigned>(core) + 1);
    }
    return cores;
}

} // namespace overtake
