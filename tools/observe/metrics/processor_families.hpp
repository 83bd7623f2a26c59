// SPDX-License-Identifier: MIT
//
// Metrics of processors of engines, with --engines only.
#pragma once

#include <array>

#include "observe/metrics/exposition.hpp"

namespace overtake::metrics::families {

inline constexpr Family processor_state{
    "overtake_processor_state", Type::gauge,
    "1 for the state of an engine's processor: ok, throttled, failed or trial; 0 for the others."};
inline constexpr Family processor_slowness{
    "overtake_processor_slowness_ratio", Type::gauge,
    "What runs on an engine's processor take by what they took before; 1: the same."};
inline constexpr Family processor_retries{"overtake_processor_retries_total", Type::counter,
                                          "Runs that failures of an engine's processor stopped."};
inline constexpr Family processor_runs{"overtake_processor_runs_total", Type::counter,
                                       "Runs that an engine's processor has done."};
inline constexpr Family processor_busy{
    "overtake_processor_busy_seconds_total", Type::counter,
    "Execution time of runs that have ended on an engine's processor, of all workers together."};
inline constexpr Family processor_queue{
    "overtake_processor_queue_runs", Type::gauge,
    "Runs that an engine's processor executes or has been given."};

inline constexpr std::array of_processors{
    &processor_state, &processor_slowness, &processor_retries,
    &processor_runs,  &processor_busy,     &processor_queue,
};

} // namespace overtake::metrics::families
