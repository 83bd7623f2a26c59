// SPDX-License-Identifier: MIT
#include "report_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "output_file.hpp"
#include "overtake/device.hpp"
#include "report.hpp"

namespace overtake::command {
namespace {

constexpr const char* forms[] = {".html", ".json", ".txt"};

bool is_file(const std::filesystem::path& place) {
    return std::ranges::any_of(forms, [&](const char* form) { return place.extension() == form; });
}

// A model file may call its model anything; what is written stays in the directory.
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
    return form == ".json" ? summary.dump(2) + "\n" : report::text(summary);
}

} // namespace

void write_report(const std::string& path, const std::string& name,
                  const nlohmann::ordered_json& summary) {
    const std::filesystem::path place(path);
    if (is_file(place)) {
        const std::string text = in_form(place.extension(), summary);
        return write_file(path, [&](std::ostream& file) { file << text; });
    }
    std::error_code error;
    std::filesystem::create_directories(place, error);
    if (error || !std::filesystem::is_directory(place, error))
        throw Error(EINVAL, fmt::format("--report {}: is neither a .html, .json or .txt file nor a "
                                        "directory that could be made",
                                        path));
    for (const std::string form : forms) {
        const std::string text = in_form(form, summary);
        write_file(place / (file_name(name) + form), [&](std::ostream& file) { file << text; });
    }
}

void write_reports(const std::string& path, const nlohmann::ordered_json& summaries) {
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
        write_report(path, summary["name"], summary);
}

} // namespace overtake::command
