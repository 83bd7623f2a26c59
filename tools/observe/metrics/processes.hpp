// SPDX-License-Identifier: MIT
//
// Who has a kernel device open, as fdinfo tells (Documentation/gpu/drm-usage-stats.rst).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace overtake::metrics {

/// An open file of a device of the driver.
struct OpenFile {
    std::string node; ///< "accelM"
    unsigned pid = 0; ///< the lowest of the processes that share it
    std::string command;
    /// Values of fdinfo that are numbers, by key; those in KiB and MiB as bytes.
    std::map<std::string, std::uint64_t> values;
};

struct OpenFiles {
    std::vector<OpenFile> files; ///< each once, however many descriptors it has
    unsigned unreadable = 0;     ///< processes that did not let themselves be looked into
};

/// Those that this process may see.
OpenFiles find_open_files(const std::filesystem::path& proc = "/proc");

} // namespace overtake::metrics
