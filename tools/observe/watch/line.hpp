// SPDX-License-Identifier: MIT
//
// Events as text for people, and as JSON for programs.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "observe/processor_event.hpp"
#include "observe/watch/jobs.hpp"
#include "overtake/event.hpp"

namespace overtake::watch {

/// Returns one line, without its end. `origin_ns`: the time that is shown as 0. `job`: from Jobs.
std::string to_line(const Event& event, const Job* job, std::uint64_t origin_ns);

/// Returns a line for an event of an engine with several processors, in the same columns. `model`
/// is the model of its request; `processor` is the name of its processor, empty if it is not known.
std::string to_line(const ProcessorEvent& event, std::uint64_t model, const std::string& processor,
                    std::uint64_t origin_ns);
/// Returns the event for programs.
nlohmann::ordered_json to_json(const ProcessorEvent& event, std::uint64_t model,
                               const std::string& processor);

/// Returns the fields that the event's type has, by their names in struct Event.
nlohmann::ordered_json to_json(const Event& event);
/// Returns the same as text, without a line's end: for programs that write 100,000 events a second.
std::string to_json_line(const Event& event);

} // namespace overtake::watch
