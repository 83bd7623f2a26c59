// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace overtake::timeline {

/// Returns the output of inspect_svg.py for a document. Throws if it is not well-formed XML.
nlohmann::json inspect(const std::string& svg);

/// Returns the number of groups of a class.
std::size_t count(const nlohmann::json& contents, const std::string& group);

/// Checks that no element reaches beyond the picture, and no entry of the legend into another.
void expect_tidy(const nlohmann::json& contents);

/// An empty directory, which is removed with its contents at the end.
class ScratchDirectory {
public:
    ScratchDirectory();
    ~ScratchDirectory();
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;
    const std::filesystem::path& path() const { return path_; }
    std::size_t files() const;

private:
    std::filesystem::path path_;
};

/// Returns the standard output of a shell command, which must succeed.
std::string output_of(const std::string& command);

} // namespace overtake::timeline
