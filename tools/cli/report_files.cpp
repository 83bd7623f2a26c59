// SPDX-License-Identifier: MIT
#include "report_files.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "json_text.hpp"
#include "observe/report/report.hpp"
#include "overtake/device.hpp"

namespace overtake::command {
namespace {

constexpr const char* forms[] = {".html", ".json", ".txt"};

bool is_file(const std::filesystem::path& place) {
    return std::ranges::any_of(forms, [&](const char* form) { return place.extension() == form; });
}

// Whether the path looks like a file of another kind, which must not become a directory.
bool has_other_suffix(const std::filesystem::path& place) {
    const std::string suffix = place.extension();
    std::error_code error;
    return suffix.size() > 1 && !std::filesystem::is_directory(place, error) &&
           std::ranges::all_of(suffix.substr(1), [](unsigned char c) { return std::isalpha(c); });
}

// Returns a file name for a model. A model file may give its model any name, but the file must be
// in the directory.
std::string file_name(std::string name) {
    std::ranges::replace(name, '/', '_');
    std::ranges::replace(name, '\0', '_');
    if (name.starts_with('.'))
        name[0] = '_';
    return name.empty() ? "model" : name;
}

std::string in_form(const std::string& form, const nlohmann::ordered_json& summary) {
    if (form == ".html")
        return report::html(summary);
    return form == ".json" ? text_of(summary) + "\n" : report::text(summary);
}

} // namespace

void check_report(const std::string& path, const std::string& name) {
    const std::filesystem::path place(path);
    if (is_file(place))
        return check_output_file(path);
    if (has_other_suffix(place))
        throw CLI::ValidationError(
            "--report", fmt::format("'{}': a report is a file FILE.html, FILE.json or FILE.txt, or "
                                    "a directory for all three",
                                    path));
    check_output_directory("--report", place);
    std::error_code error;
    if (std::filesystem::is_directory(place, error))
        for (const char* form : forms)
            check_output_file(place / (file_name(name) + form));
}

void add_report(OutputFiles& files, const std::string& path, const std::string& name,
                const nlohmann::ordered_json& summary) {
    const std::filesystem::path place(path);
    const auto add = [&](const std::string& file, const std::string& form) {
        const std::string text = in_form(form, summary);
        files.add(file, [&](std::ostream& stream) { stream << text; });
    };
    if (is_file(place))
        return add(path, place.extension());
    files.make_directory(place);
    for (const char* form : forms)
        add(place / (file_name(name) + form), form);
}

void add_reports(OutputFiles& files, const std::string& path,
                 const nlohmann::ordered_json& summaries) {
    if (summaries.size() > 1 && is_file(path))
        throw Error(EINVAL, fmt::format("--report {}: one file for {} models; name a directory, "
                                        "or one of them with --model-name",
                                        path, summaries.size()));
    std::set<std::string> names;
    for (const auto& summary : summaries)
        if (!names.insert(file_name(summary["name"])).second)
            throw Error(EINVAL, fmt::format("--report {}: two models would both be {}; choose one "
                                            "with --model-name",
                                            path, file_name(summary["name"])));
    for (const auto& summary : summaries)
        add_report(files, path, summary["name"], summary);
}

} // namespace overtake::command
