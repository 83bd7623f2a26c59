// SPDX-License-Identifier: MIT
#include "embedded/profiles.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace overtake {

namespace {

std::vector<std::string> built_in_profiles() {
    std::vector<std::string> names;
    for (u32 i = 0; const ovt_profile* profile = ovt_profile_at(i); i++)
        names.emplace_back(profile->name);
    return names;
}

} // namespace

std::vector<ovt_profile> core_profiles_of(const EmbeddedOptions& options) {
    if (options.profiles.empty()) {
        const ovt_profile* profile = ovt_profile_find(options.profile.c_str());
        if (!profile)
            throw Error(EINVAL,
                        fmt::format("embedded device: no profile named '{}'", options.profile));
        return {options.cores, *profile};
    }
    if (options.profiles.size() != options.cores)
        throw Error(EINVAL, fmt::format("embedded device: {} profiles for {} cores: name one for "
                                        "each core",
                                        options.profiles.size(), options.cores));
    std::vector<ovt_profile> found;
    for (const std::string& name : options.profiles) {
        const ovt_profile* profile = ovt_profile_find(name.c_str());
        if (!profile)
            throw Error(EINVAL,
                        fmt::format("embedded device: core {}: no profile named '{}': name "
                                    "one of {}",
                                    found.size() + 1, name, fmt::join(built_in_profiles(), ", ")));
        found.push_back(*profile);
    }
    return found;
}

} // namespace overtake
