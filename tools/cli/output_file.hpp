// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "observe/timeline/whole_file.hpp"

namespace overtake::command {

/// Files that appear together, each whole, or not at all. All throw Error naming the file and the
/// reason (e.g. a full disk); then nothing is left, nor any directory made for them.
class OutputFiles {
public:
    OutputFiles() = default;
    OutputFiles(const OutputFiles&) = delete;
    OutputFiles& operator=(const OutputFiles&) = delete;
    ~OutputFiles();

    /// Makes a directory that is to hold some of them, and those above it.
    void make_directory(const std::filesystem::path& directory);
    /// One more, with what `write` writes now.
    void add(const std::string& path, const std::function<void(std::ostream&)>& write);
    /// They take their places, replacing what is there.
    void commit();

private:
    std::vector<timeline::WholeFile> files_;
    std::vector<std::filesystem::path> made_; ///< directories, those above first
};

/// One file by itself.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

/// Throws what OutputFiles would before anything is written, so that no work is lost; and
/// Error if the file is one of those that are `read`, and would be replaced.
void check_output_file(const std::string& path, const std::vector<std::string>& read = {});

/// The same of a directory that is to be made, or is there; `option` is what names it.
void check_output_directory(const std::string& option, const std::filesystem::path& directory);

} // namespace overtake::command
