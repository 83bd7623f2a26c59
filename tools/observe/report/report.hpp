// SPDX-License-Identifier: MIT
//
// The report on a compiled model for people. Every form is made from one summary
// (tools/cli/summary.hpp), which is itself the JSON form.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace overtake::report {

/// Returns the report for a terminal: totals, tensors, segments with their FCs, nodes, memory.
std::string text(const nlohmann::ordered_json& summary);

/// Returns the report as one page that needs no script, font or picture from outside. The page
/// follows the reader's light or dark scheme and prints in black on white.
std::string html(const nlohmann::ordered_json& summary);

} // namespace overtake::report
