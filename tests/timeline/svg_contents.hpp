// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace overtake::timeline {

/// What inspect_svg.py says about a document. An exception if it is not well-formed XML.
nlohmann::json inspect(const std::string& svg);

/// How many groups of a class there are.
std::size_t count(const nlohmann::json& contents, const std::string& group);

/// Nothing reaches beyond the picture, and no entry of the legend into another.
void expect_tidy(const nlohmann::json& contents);

/// An empty directory that goes away with its contents.
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

/// Standard output of a shell command that succeeds.
std::string output_of(const std::string& command);

} // namespace overtake::timeline
