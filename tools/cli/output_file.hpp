// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "observe/timeline/whole_file.hpp"

namespace overtake::command {

/// Files that commit() puts in their places, each atomically. All members throw Error, which names
/// the file and the reason (e.g. a full disk). Without a successful commit(), no directory made for
/// the files is left, nor any file, except those that a failed commit() had already put in place.
class OutputFiles {
public:
    OutputFiles() = default;
    OutputFiles(const OutputFiles&) = delete;
    OutputFiles& operator=(const OutputFiles&) = delete;
    ~OutputFiles();

    /// Makes a directory for some of the files, and its missing parents.
    void make_directory(const std::filesystem::path& directory);
    /// Adds a file with the text that `write` writes during the call.
    void add(const std::string& path, const std::function<void(std::ostream&)>& write);
    /// Puts the files in their places one after the other, replacing existing files.
    void commit();

private:
    std::vector<timeline::WholeFile> files_;
    std::vector<std::filesystem::path> made_; ///< directories, parents first
};

/// Writes one file atomically.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

/// Throws the Error that OutputFiles would throw, before any work is done that could be lost.
/// Throws Error, too, if the file is one of those that are `read` and would be replaced.
void check_output_file(const std::string& path, const std::vector<std::string>& read = {});

/// Does the same for a directory that is to be made, or exists; `option` is the option that names
/// it.
void check_output_directory(const std::string& option, const std::filesystem::path& directory);

} // namespace overtake::command
