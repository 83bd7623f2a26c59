// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "output_file.hpp"

namespace overtake::command {

/// Throws CLI::ValidationError if `path` has a suffix that is no form of a report, and Error if the
/// report of the model `name` cannot be written there.
void check_report(const std::string& path, const std::string& name);

/// Adds the report to `files`: one file if `path` ends in .html, .json or .txt, in that form;
/// otherwise all three forms in the directory `path` (made if needed), as NAME.html and so on.
/// Throws Error.
void add_report(OutputFiles& files, const std::string& path, const std::string& name,
                const nlohmann::ordered_json& summary);

/// Adds the reports of several models, each under its own name in the directory `path`. Throws
/// Error if `path` is one file for several models, or if two models would have the same file name.
void add_reports(OutputFiles& files, const std::string& path,
                 const nlohmann::ordered_json& summaries);

} // namespace overtake::command
