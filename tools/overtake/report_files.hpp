// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace overtake::command {

/// Writes the report: to a file if `path` ends in .html, .json or .txt, in that form; otherwise
/// into the directory `path` (made if need be) in all three, as NAME.html and so on.  Throws Error.
void write_report(const std::string& path, const std::string& name,
                  const nlohmann::ordered_json& summary);

/// The same for several models, each under its own name in a directory; a file is refused, and so
/// are two models of one name.
void write_reports(const std::string& path, const nlohmann::ordered_json& summaries);

} // namespace overtake::command
