// SPDX-License-Identifier: MIT
//
// Which processes have a kernel device open, from fdinfo (Documentation/gpu/drm-usage-stats.rst).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace overtake::metrics {

/// An open file of a device of this driver.
struct OpenFile {
    std::string node; ///< "accelM"
    unsigned pid = 0; ///< the lowest of the processes that share the file
    std::string command;
    /// The numbers in its fdinfo, by key; numbers in KiB and MiB are converted to bytes.
    std::map<std::string, std::uint64_t> values;
};

struct OpenFiles {
    std::vector<OpenFile> files; ///< each file once, however many descriptors it has
    unsigned unreadable = 0;     ///< processes whose descriptors may not be read
};

/// Returns the open files that this process may see.
OpenFiles find_open_files(const std::filesystem::path& proc = "/proc");

} // namespace overtake::metrics
