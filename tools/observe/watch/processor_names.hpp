// SPDX-License-Identifier: MIT
//
// ProcessorNames: the request and the processor of an engine's event. Most events name them only by
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "observe/processor_event.hpp"
#include "observe/watch/processor_table.hpp"

namespace overtake::watch {

class ProcessorNames {
public:
    static constexpr std::size_t most_requests = 1u << 17; ///< live requests

    struct About {
        /// Model of the request, if the request was seen to arrive.
        std::optional<std::uint64_t> model{};
        std::optional<std::uint32_t> priority{};
        std::string processor{}; ///< empty: not known
    };

    /// Returns the known facts about the event's request and processor, including those of this
    /// event.
    About follow(const ProcessorEvent& event);
    std::vector<std::uint32_t> processes() const { return table_.processes(); }
    void forget(const std::set<std::uint32_t>& pids);

private:
    struct Request {
        std::uint64_t model;
        std::uint32_t priority;
    };

    ProcessorTable table_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, Request> requests_; ///< by pid and address
};

} // namespace overtake::watch
