// SPDX-License-Identifier: MIT
//
// What all devices say of themselves, as metrics.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "observe/watch/processor_table.hpp"

namespace overtake::metrics {

struct Sources {
    std::filesystem::path sys = "/sys";
    std::filesystem::path proc = "/proc";
    std::vector<std::string> servers{};         ///< sockets of device servers that are asked
    std::chrono::milliseconds patience{};       ///< for how long a server is waited for
    bool processes = false;                     ///< series of each process, too
    std::string version{};                      ///< of this program
    std::vector<watch::ProcessorRow> engines{}; ///< processors of engines that are watched
};

/// In the text exposition format. A device that goes away meanwhile lacks samples; a server that
/// does not answer is one that is not up. Thread safe.
std::string collect(const Sources& sources);

} // namespace overtake::metrics
