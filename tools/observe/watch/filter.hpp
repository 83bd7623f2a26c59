// SPDX-License-Identifier: MIT
//
// Filter: the events that a user wants to see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "observe/processor_event.hpp"
#include "observe/watch/jobs.hpp"
#include "overtake/event.hpp"

namespace overtake::watch {

/// An empty list takes every event. A preemption is taken if either of its processes is in `pids`.
struct Filter {
    std::vector<std::uint32_t> pids{};
    std::vector<unsigned> cores{};
    std::vector<unsigned> priorities{};
    std::vector<std::string> models{}; ///< names, or their first eight bytes
    std::vector<std::string> types{};  ///< as event_type_name()

    /// `job`: the facts that Jobs has about the event's job. If it is null, only an event of a task
    /// has a priority, and the model is the event's own.
    bool takes(const Event& event, const Job* job) const;
    /// Returns the same for an event of an engine; with any `cores`, it takes none. `model` and
    /// `priority` are those of the event's request; an event about a processor has none.
    bool takes(const ProcessorEvent& event, std::optional<std::uint64_t> model,
               std::optional<std::uint32_t> priority) const;
};

} // namespace overtake::watch
