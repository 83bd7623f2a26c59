// SPDX-License-Identifier: MIT
//
// USDT probes of an engine with several processors, which report its requests and the state of its
// processors.  A probe is a nop until a tracer attaches to it.
//
// Stable, provider `overtake`; docs/reference/tracepoints.md has the table.  Times are host time,
// CLOCK_MONOTONIC, except `start` and `end` of run_end, which are device time.  `task`
// distinguishes the process's live requests, `engine` its engines, and processors count from 0.
// The engine's thread passes the probes and, after it has ended, the thread that destroys the
// engine.  So they fire in the order of time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "coordination/coordinated_task.hpp"
#include "engine/probes.hpp"

namespace overtake::coordination::probe {

/// The state of a processor, as the probe reports it.
enum class State : std::uint8_t {
    works,
    throttled, ///< runs take longer than they did
    failed,
    trial, ///< it has failed, and a trial is under way
    gone,  ///< its engine has been destroyed
};

/// The first sixteen bytes of a name, so that a tracer need not read memory for it.
using Name = std::array<std::uint64_t, 2>;

inline Name name_of(std::string_view text) {
    Name name{};
    std::memcpy(name.data(), text.data(), std::min(text.size(), sizeof(name)));
    return name;
}

/// Counts since the engine was made.
struct Counts {
    std::uint64_t runs = 0;
    std::uint64_t busy_ns = 0;
    std::uint64_t failures = 0;
    std::uint64_t retries = 0;
};

/// A processor has been given a run, has ended one, or its state has changed.  While the engine has
/// something to do, the probe fires for every processor now and then.
inline void processor(const void* engine, std::uint64_t time_ns, std::uint32_t number,
                      const Name& name, State state, const ovt_coord_processor& of,
                      const Counts& counts) {
    OVERTAKE_PROBE(processor, 12, engine, time_ns, number, name[0], name[1], of.workers,
                   static_cast<unsigned>(state), of.ratio, of.unfinished, counts.runs,
                   counts.busy_ns, counts.retries);
}

/// `model` is the model that the request's jobs name to the driver.
inline void request_arrive(const CoordinatedTask& task, std::uint64_t time_ns, const void* engine) {
    OVERTAKE_PROBE(request_arrive, 6, &task, time_ns, engine, task.options().model,
                   task.options().priority, task.options().custom_id);
}

/// `able`: the processors that could run the run's first unit for this request, one bit each.
/// `job`: on a core the tag of the job of its first unit; the tags of the other units' jobs follow
/// it; 0: the run has no jobs.
inline void run_dispatch(const CoordinatedTask& task, std::uint64_t time_ns, const void* engine,
                         const ovt_coord_run& run, std::uint64_t able, std::uint64_t job) {
    OVERTAKE_PROBE(run_dispatch, 9, &task, time_ns, engine, run.number, run.processor, run.units,
                   able, run.expected, job);
}

/// `status`: 0, -EIO if its processor failed, -ECANCELED, or the status of the program's fault.
inline void run_end(const CoordinatedTask& task, std::uint64_t time_ns, const void* engine,
                    const ovt_coord_run& run, std::uint64_t start_ns, std::uint64_t end_ns,
                    std::uint64_t executed_ns, std::int32_t status) {
    OVERTAKE_PROBE(run_end, 10, &task, time_ns, engine, run.number, run.processor, run.units,
                   start_ns, end_ns, executed_ns, status);
}

/// Work of the request outside of runs begins: copies, or a computation of the program's.
inline void request_work(const CoordinatedTask& task, std::uint64_t time_ns, const void* engine) {
    OVERTAKE_PROBE(request_work, 3, &task, time_ns, engine);
}

inline void request_worked(const CoordinatedTask& task, std::uint64_t time_ns, const void* engine) {
    OVERTAKE_PROBE(request_worked, 3, &task, time_ns, engine);
}

inline void request_end(const CoordinatedTask& task, std::uint64_t time_ns, const void* engine,
                        std::int32_t status, std::uint32_t retries) {
    OVERTAKE_PROBE(request_end, 5, &task, time_ns, engine, status, retries);
}

} // namespace overtake::coordination::probe
