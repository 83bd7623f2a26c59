// SPDX-License-Identifier: MIT
//
// A report as a sentence.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "observe/blame/blame.hpp"

namespace overtake::blame {

/// Returns the name of a culprit, e.g. "large (pid 812)".
using NameOf = std::function<std::string(const Who&)>;

/// Returns "model N (pid N)", or the part of it that is known, or else "client N".
std::string default_name(const Who& who);

/// Returns one line, e.g. "detector 41.2 ms: 33.7 behind large (pid 812), 5.5 behind detector, 2.0
/// own". If the latency is above `limit_ns`, ", 37.2 late" follows the first time. The times add up
/// as they are printed. The greatest time comes first; the job's or task's own work comes last.
std::string sentence(const std::string& name, const Report& report, const NameOf& name_of,
                     std::optional<std::uint64_t> limit_ns = {});

} // namespace overtake::blame
