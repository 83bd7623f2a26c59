// SPDX-License-Identifier: MIT
//
// overtake perf --try: measures, in turns, settings of the library that do not change results.
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

/// The turns of each setting, and its usual number of requests in all turns together.
constexpr std::size_t try_turns = 5;
constexpr std::uint64_t usual_try_requests = 10'000;
/// Without a number of requests, no request begins later than this after the first one of its turn.
constexpr std::uint64_t usual_try_turn_ns = 100'000'000;

struct TrySetting {
    CpuLayout layout;
    unsigned record;
};

/// Makes a load for each setting that can make a difference to the model, calls `made`, and then
/// measures the loads turn by turn. The result has the reason for each setting that was refused.
/// Throws Error if the default setting is refused, or if a request fails.
nlohmann::ordered_json try_settings(const Model& model, const Device& device,
                                    const std::function<load::Load(const TrySetting&)>& make,
                                    const std::function<void()>& made,
                                    const std::atomic<bool>& stop);

/// Prints the result of try_settings().
void print_try(const nlohmann::ordered_json& json);

} // namespace overtake::command
