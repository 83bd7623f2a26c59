// SPDX-License-Identifier: MIT
//
// ProcessorEvent: an event that an engine with several processors reports through its USDT probes;
// docs/reference/tracepoints.md has their table. No device reports these events, so they are no
// overtake::Event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace overtake::watch {

/// The types are in the order of the probes.
enum class ProcessorEventType : std::uint8_t {
    processor,      ///< a processor got a run, ended one, or changed its state
    request_arrive, ///< a request arrived at its engine
    request_work,   ///< work of a request that is no run begins
    request_worked, ///< that work has ended
    run_dispatch,   ///< a run of a request goes to a processor
    run_end,        ///< the run is over
    request_end,    ///< the request is over
};
inline constexpr std::size_t processor_event_count =
    static_cast<std::size_t>(ProcessorEventType::request_end) + 1;

constexpr std::string_view name_of(ProcessorEventType type) {
    constexpr std::array<std::string_view, processor_event_count> names{
        "processor",    "request_arrive", "request_work", "request_worked",
        "run_dispatch", "run_end",        "request_end"};
    return names[static_cast<std::size_t>(type)];
}

/// The state of a processor.  Numbers are the probe's.
enum class ProcessorState : std::uint8_t {
    ok,
    throttled, ///< runs take longer than before
    failed,
    trial, ///< the processor has failed, and the engine tries it again
    gone,  ///< the processor ended with its engine
};
inline constexpr std::size_t processor_state_count =
    static_cast<std::size_t>(ProcessorState::gone) + 1;

constexpr std::string_view name_of(ProcessorState state) {
    constexpr std::array<std::string_view, processor_state_count> names{"ok", "throttled", "failed",
                                                                        "trial", "gone"};
    return names[static_cast<std::size_t>(state)];
}

inline constexpr std::uint32_t most_processors = 64; ///< processors of an engine
inline constexpr std::uint32_t most_workers = 64;    ///< workers of a pool

/// A field that a type does not have is zero. The events of an engine come in the order of time.
struct ProcessorEvent {
    ProcessorEventType type{};
    std::uint32_t pid = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t engine = 0;    ///< distinguishes the engines of a process
    std::uint64_t task = 0;      ///< request_*, run_*: distinguishes the live requests of a process
    std::uint64_t model = 0;     ///< request_arrive: as Event::model
    std::int64_t custom_id = 0;  ///< request_arrive
    std::uint32_t priority = 0;  ///< request_arrive
    std::uint32_t processor = 0; ///< processor, run_*: number in its engine, from 0
    std::uint32_t run = 0;       ///< run_*: number in its request, from 0
    std::uint64_t units = 0;     ///< run_*: units of the model, one bit each
    std::uint64_t able =
        0; ///< run_dispatch: processors that could run the first unit, one bit each
    std::uint64_t expected_ns = 0; ///< run_dispatch
    std::uint64_t job = 0; ///< run_dispatch: tag of the first unit's job; 0: the run has no jobs
    std::uint64_t start_ns = 0;    ///< run_end, device time; 0: the run did not start
    std::uint64_t end_ns = 0;      ///< run_end, device time
    std::uint64_t executed_ns = 0; ///< run_end
    std::int32_t status = 0;       ///< run_end, request_end: 0 or a negative errno
    std::uint32_t retries = 0;     ///< request_end; processor: runs that its failures stopped

    // processor
    std::string name{};        ///< printable
    std::uint32_t workers = 0; ///< workers of a pool; 0: the processor is a core
    ProcessorState state{};
    std::uint64_t ratio = 0; ///< how long runs take now, in thousandths of what they took before
    std::uint32_t unfinished = 0; ///< runs that the processor has
    std::uint64_t runs = 0;       ///< runs done since the engine was made
    std::uint64_t busy_ns = 0;    ///< execution time of runs that ended since then
};

} // namespace overtake::watch
