// SPDX-License-Identifier: MIT
//
// Filter: which events a user wants to see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "observe/processor_event.hpp"
#include "observe/watch/jobs.hpp"
#include "overtake/event.hpp"

namespace overtake::watch {

/// An empty list takes everything.  Of a preemption, either process is enough.
struct Filter {
    std::vector<std::uint32_t> pids{};
    std::vector<unsigned> cores{};
    std::vector<unsigned> priorities{};
    std::vector<std::string> models{}; ///< names, or their first eight bytes
    std::vector<std::string> types{};  ///< as event_type_name()

    /// `job`: what Jobs knows of it, or null: then it has no priority and no model that could fit.
    bool takes(const Event& event, const Job* job) const;
    /// The same of what engines tell; `model` and `priority`: of its request, none of a processor.
    bool takes(const ProcessorEvent& event, std::optional<std::uint64_t> model,
               std::optional<std::uint32_t> priority) const;
};

} // namespace overtake::watch
