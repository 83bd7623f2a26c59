// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace overtake::command {

/// Writes the report: to a file if `path` ends in .html, .json or .txt, in that form; otherwise
/// into the directory `path` (made if need be) in all three, as NAME.html and so on.  Throws Error.
void write_report(const std::string& path, const std::string& name,
                  const nlohmann::ordered_json& summary);

} // namespace overtake::command
