// SPDX-License-Identifier: MIT
//
// ProcessorLanes: the runs of engines with several processors, for a picture with a row for each
// core and for each worker of a pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "observe/processor_event.hpp"
#include "observe/timeline/timeline.hpp"

namespace overtake::watch {

class ProcessorLanes {
public:
    static constexpr std::size_t most_processors_drawn = 1024; ///< processors of all engines
    static constexpr std::size_t most_requests = 1u << 17;     ///< live requests

    void add(const ProcessorEvent& event);
    bool empty() const noexcept { return runs_.empty(); }
    /// Adds the rows of the processors below the rows of the device's cores. The picture's FCs are
    /// of cores 1 to `cores`.
    void add_to(timeline::Timeline& timeline, unsigned cores) const;

private:
    using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>; ///< pid, engine, processor
    struct Condition {
        ProcessorState state;
        std::uint64_t from_ns;
        std::uint64_t to_ns;
    };
    struct Processor {
        std::string name;
        std::uint32_t workers = 0;
        ProcessorState state{};
        std::uint64_t since_ns = 0; ///< when the state began
        std::vector<Condition> conditions;
    };
    struct Run {
        Key processor;
        std::uint32_t number;
        std::uint64_t task;
        std::uint64_t model;
        bool high;
        std::uint64_t units;
        std::uint64_t start_ns;
        std::uint64_t end_ns;
    };
    struct Request {
        std::uint64_t model = 0;
        bool high = false;
        std::uint64_t number = 0; ///< its number among all requests
    };

    void see_processor(const ProcessorEvent& event);
    void add_conditions(timeline::Timeline& timeline, const Processor& processor, unsigned first,
                        std::uint64_t last_ns) const;

    std::map<Key, Processor> processors_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, Request> requests_; ///< by pid and address
    std::uint64_t next_request_ = 1;
    std::vector<Run> runs_;
};

} // namespace overtake::watch
