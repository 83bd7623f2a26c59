// SPDX-License-Identifier: MIT
#include "report_files.hpp"

#include <cerrno>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "output_file.hpp"
#include "overtake/device.hpp"
#include "report.hpp"

namespace overtake::command {
namespace {

constexpr const char* forms[] = {".html", ".json", ".txt"};

std::string in_form(const std::string& form, const nlohmann::ordered_json& summary) {
    if (form == ".html")
        return report::html(summary);
    return form == ".json" ? summary.dump(2) + "\n" : report::text(summary);
}

} // namespace

void write_report(const std::string& path, const std::string& name,
                  const nlohmann::ordered_json& summary) {
    const std::filesystem::path place(path);
    for (const std::string form : forms)
        if (place.extension() == form) {
            const std::string text = in_form(form, summary);
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
        write_file(place / (name + form), [&](std::ostream& file) { file << text; });
    }
}

} // namespace overtake::command
