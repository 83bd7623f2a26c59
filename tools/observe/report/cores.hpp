// SPDX-License-Identifier: MIT
//
// The part of reports about a plan for several cores.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace overtake::report {

/// Returns a chart of one inference, with cores from top to bottom and time from left to right: the
/// layers that each core computes, and the times at which all cores meet. Empty without a plan.
std::string core_chart(const nlohmann::ordered_json& summary);

/// Returns the plan as lines of text; empty without a plan.
std::string core_text(const nlohmann::ordered_json& summary);

/// Returns "3 cores of default", or "default, default, little".
std::string core_names(const nlohmann::ordered_json& plan);

/// Returns which programs run the plan, and which do not.
std::string who_uses(const nlohmann::ordered_json& plan);

} // namespace overtake::report
