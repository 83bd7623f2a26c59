// SPDX-License-Identifier: MIT
//
// Runs random scenarios with several processors through the shipped coordinator and firmware in the
// simulator, and checks the rules that every timeline obeys, with any policy.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace overtake::fuzz {

/// Totals of the clean scenarios, in which no rule is violated.
struct ProcessorTotals {
    std::uint64_t tasks = 0;
    std::uint64_t runs = 0;
    std::uint64_t failed = 0;    ///< runs that failed with their processor
    std::uint64_t cancelled = 0; ///< tasks
    std::uint64_t dropped = 0;   ///< tasks
};

struct ProcessorCampaignOptions {
    std::uint64_t cases = 0;
    std::uint64_t seed = 1; ///< seed of the first scenario; the others follow
    unsigned threads = 0;   ///< 0: one for each CPU
    /// Called now and then, by any thread, one call at a time, with the share done, 0..1.
    std::function<void(double)> progress{};
};

struct ProcessorFailure {
    std::uint64_t seed;
    std::string violation;
    nlohmann::json shrunk;
    std::string shrunk_violation;
};

struct ProcessorCampaignResult {
    std::uint64_t cases = 0; ///< clean scenarios
    ProcessorTotals totals;
    std::optional<ProcessorFailure> failure; ///< of the first scenario, by seed, that fails
};

/// Returns the violation in the scenario's timeline, if any. Throws Error if `scenario` is none.
std::optional<std::string> processor_violation(const nlohmann::json& scenario,
                                               ProcessorTotals* totals = nullptr);

/// Runs scenarios until one fails or all are clean.  The reported failure does not depend on the
/// number of threads.
ProcessorCampaignResult processor_campaign(const ProcessorCampaignOptions& options);

} // namespace overtake::fuzz
