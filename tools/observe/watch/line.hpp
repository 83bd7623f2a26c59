// SPDX-License-Identifier: MIT
//
// An event as people read it, and as programs do.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "observe/processor_event.hpp"
#include "observe/watch/jobs.hpp"
#include "overtake/event.hpp"

namespace overtake::watch {

/// One line, without its end.  `origin_ns`: the time that is called 0; `job`: as Jobs has it.
std::string to_line(const Event& event, const Job* job, std::uint64_t origin_ns);

/// What an engine with several processors tells, in the same columns.  `model`: of its request;
/// `processor`: what the one that it is about is called, empty: not known.
std::string to_line(const ProcessorEvent& event, std::uint64_t model, const std::string& processor,
                    std::uint64_t origin_ns);
/// Returns the same for programs.
nlohmann::ordered_json to_json(const ProcessorEvent& event, std::uint64_t model,
                               const std::string& processor);

/// The fields that the type has, by their names in struct Event.
nlohmann::ordered_json to_json(const Event& event);
/// The same as text, without a line's end: for those who write a hundred thousand a second.
std::string to_json_line(const Event& event);

} // namespace overtake::watch
