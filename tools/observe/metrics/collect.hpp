// SPDX-License-Identifier: MIT
//
// The metrics that all devices report about themselves.
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
    std::vector<std::string> servers{};         ///< sockets of the device servers to ask
    std::chrono::milliseconds patience{};       ///< the longest wait for a server
    bool processes = false;                     ///< whether each process gets series of its own
    std::string version{};                      ///< version of this program
    std::vector<watch::ProcessorRow> engines{}; ///< processors of the engines that are watched
};

/// Returns the metrics in the text exposition format. A device that goes away meanwhile lacks
/// samples. A server that does not answer counts as not up. Thread safe.
std::string collect(const Sources& sources);

} // namespace overtake::metrics
