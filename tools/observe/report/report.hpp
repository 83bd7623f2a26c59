// SPDX-License-Identifier: MIT
//
// The report on a compiled model as people read it. Every form is made of the one summary
// (tools/cli/summary.hpp), which is the JSON form itself.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace overtake::report {

/// For a terminal: totals, tensors, segments with their FCs, nodes, memory.
std::string text(const nlohmann::ordered_json& summary);

/// One page that needs nothing else: no script, no font, no picture from outside.  It follows the
/// reader's light or dark scheme and prints in black on white.
std::string html(const nlohmann::ordered_json& summary);

} // namespace overtake::report
