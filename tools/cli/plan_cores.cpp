// SPDX-License-Identifier: MIT
#include "plan_cores.hpp"

#include <algorithm>
#include <string>

#include "compiler/ir/firmware.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::command {

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

} // namespace overtake::command
