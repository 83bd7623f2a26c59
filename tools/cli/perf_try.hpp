// SPDX-License-Identifier: MIT
//
// overtake perf --try: settings of the library that leave results as they are, measured in turns.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <nlohmann/json.hpp>

#include "load/load.hpp"
#include "overtake/cpu_layout.hpp"
#include "overtake/device.hpp"
#include "overtake/model.hpp"

namespace overtake::command {

/// Each setting has so many turns, and usually so many requests in all of its turns together.
constexpr std::size_t try_turns = 5;
constexpr std::uint64_t usual_try_requests = 10'000;
/// Without a number of requests, no request begins later than this after the first of its turn.
constexpr std::uint64_t usual_try_turn_ns = 100'000'000;

struct TrySetting {
    CpuLayout layout;
    unsigned record;
};

/// Makes a load for each setting that can make a difference to the model, calls `made`, then
/// measures the loads turn by turn.  The result has the reason for each setting that was refused.
/// Throws Error if the default setting is refused, or a request fails.
nlohmann::ordered_json try_settings(const Model& model, const Device& device,
                                    const std::function<load::Load(const TrySetting&)>& make,
                                    const std::function<void()>& made,
                                    const std::atomic<bool>& stop);

/// Prints what try_settings() returns.
void print_try(const nlohmann::ordered_json& json);

} // namespace overtake::command
