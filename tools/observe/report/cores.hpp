// SPDX-License-Identifier: MIT
//
// What reports say of a plan for several cores.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace overtake::report {

/// Cores from top to bottom, one inference from left to right: which layer each computes, and where
/// all meet.  Empty without a plan.
std::string core_chart(const nlohmann::ordered_json& summary);

/// As lines of a text; empty without a plan.
std::string core_text(const nlohmann::ordered_json& summary);

/// "3 cores of default", or "default, default, little".
std::string core_names(const nlohmann::ordered_json& plan);

/// Who runs the plan, and who does not.
std::string who_uses(const nlohmann::ordered_json& plan);

} // namespace overtake::report
