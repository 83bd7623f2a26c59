// SPDX-License-Identifier: MIT
//
// A report in words.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "observe/blame/blame.hpp"

namespace overtake::blame {

/// What to call who is to blame, e.g. "large (pid 812)".
using NameOf = std::function<std::string(const Who&)>;

/// "model (pid N)", or as much of it as is known.
std::string default_name(const Who& who);

/// One line, e.g. "detector 41.2 ms: 33.7 behind large (pid 812), 5.5 behind detector, 2.0 own",
/// with "37.2 late" behind the first time if it was to take no longer than `limit_ns`. The times
/// add up as they are printed; the greatest comes first, its own work last.
std::string sentence(const std::string& name, const Report& report, const NameOf& name_of,
                     std::optional<std::uint64_t> limit_ns = {});

} // namespace overtake::blame
