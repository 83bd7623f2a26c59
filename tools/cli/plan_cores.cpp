// SPDX-License-Identifier: MIT
#include "plan_cores.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ir/firmware.hpp"
#include "overtake/core_profiles.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::command {
namespace {

// Returns "4 cores of default", or "cores of default, rk3588-core".
std::string cores_text(std::span<const std::string_view> profiles) {
    const auto is_first = [&](std::string_view name) { return name == profiles.front(); };
    if (std::ranges::all_of(profiles, is_first))
        return fmt::format("{} core{} of {}", profiles.size(), profiles.size() == 1 ? "" : "s",
                           profiles.front());
    return fmt::format("cores of {}", fmt::join(profiles, ", "));
}

std::vector<std::string_view> names_of(std::span<const drm_overtake_core_profile> profiles) {
    std::vector<std::string_view> names;
    for (const drm_overtake_core_profile& profile : profiles)
        names.push_back(name_of(profile));
    return names;
}

// Returns why the plan is not used; empty if it is.
std::string why_unused(const Device& device, const CorePlan& plan, RequestsBy by) {
    const std::vector<drm_overtake_core_profile> profiles = device.core_profiles();
    if (by == RequestsBy::processors)
        return "an engine with several processors does not use plans; leave out --processors";
    if (!device.takes_groups())
        return "the driver is older than 1.2; load the module of this version";
    if (cores_named(profiles, plan.profiles).empty())
        return fmt::format("it needs {}, and the device has {}; compile the network for the cores "
                           "of the device, or use a device with those of the plan",
                           cores_text(plan.profiles), cores_text(names_of(profiles)));
    if (by == RequestsBy::engine && !(plan.are_alike && are_alike(profiles)))
        return "an engine uses a plan only where all cores are alike; a session uses it";
    return "";
}

} // namespace

void give_plan_cores(EmbeddedOptions& embedded,
                     std::span<const std::shared_ptr<const Model>> models) {
    const auto found = std::ranges::find_if(
        models, [](const auto& model) { return ModelContents::of(*model).core_plan.has_value(); });
    if (found == models.end() || !embedded.profiles.empty())
        return;
    std::vector<std::string> profiles;
    for (const std::string_view profile : ModelContents::of(**found).core_plan->profiles)
        profiles.emplace_back(profile);
    if (!std::ranges::all_of(profiles, [](const std::string& profile) {
            return ovt_profile_find(profile.c_str()) != nullptr;
        }))
        return;
    embedded.cores = static_cast<unsigned>(profiles.size());
    if (ModelContents::of(**found).core_plan->are_alike)
        embedded.profile = profiles.front();
    else
        embedded.profiles = std::move(profiles);
}

void warn_of_unused_plans(const Device& device,
                          std::span<const std::shared_ptr<const Model>> models,
                          std::span<const std::string> paths, RequestsBy by) {
    for (std::size_t index = 0; index < models.size(); ++index)
        if (const auto& plan = ModelContents::of(*models[index]).core_plan)
            if (const std::string reason = why_unused(device, *plan, by); !reason.empty())
                fmt::print(stderr, "overtake: {}: requests use one core, not the plan for {}: {}\n",
                           paths[index], plan->profiles.size(), reason);
}

} // namespace overtake::command
