// SPDX-License-Identifier: MIT
//
// Random scenarios with several processors, on the shipped coordinator and firmware in the
// simulator; what must hold of each timeline, whatever a policy decides.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace overtake::fuzz {

/// What came of the clean scenarios.
struct ProcessorTotals {
    std::uint64_t tasks = 0;
    std::uint64_t runs = 0;
    std::uint64_t failed = 0;    ///< runs, with their processors
    std::uint64_t cancelled = 0; ///< tasks
    std::uint64_t dropped = 0;   ///< tasks
};

struct ProcessorCampaignOptions {
    std::uint64_t cases = 0;
    std::uint64_t seed = 1; ///< of the first scenario; the others follow
    unsigned threads = 0;   ///< 0: one for each CPU
    /// Now and then, from any thread, one at a time, with the part done, 0..1.
    std::function<void(double)> progress{};
};

struct ProcessorFailure {
    std::uint64_t seed;
    std::string violation;
    nlohmann::json shrunk;
    std::string shrunk_violation;
};

struct ProcessorCampaignResult {
    std::uint64_t cases = 0; ///< clean ones
    ProcessorTotals totals;
    std::optional<ProcessorFailure> failure; ///< of the first that fails, from the seed on
};

/// What the timeline of a scenario violates, if anything. Throws Error if it is not a scenario.
std::optional<std::string> processor_violation(const nlohmann::json& scenario,
                                               ProcessorTotals* totals = nullptr);

/// Scenarios until one fails or all are clean. The failure is the same for any number of threads.
ProcessorCampaignResult processor_campaign(const ProcessorCampaignOptions& options);

} // namespace overtake::fuzz
