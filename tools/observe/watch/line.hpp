// SPDX-License-Identifier: MIT
//
// An event as people read it, and as programs do.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "observe/watch/jobs.hpp"
#include "overtake/event.hpp"

namespace overtake::watch {

/// One line, without its end.  `origin_ns`: the time that is called 0; `job`: as Jobs has it.
std::string to_line(const Event& event, const Job* job, std::uint64_t origin_ns);

/// The fields that the type has, by their names in struct Event.
nlohmann::ordered_json to_json(const Event& event);
/// The same as text, without a line's end: for those who write a hundred thousand a second.
std::string to_json_line(const Event& event);

} // namespace overtake::watch
