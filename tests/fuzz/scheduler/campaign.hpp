// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "scheduler/case.hpp"
#include "scheduler/host.hpp"

namespace overtake::fuzz {

/// Runs a case; throws Violation. Several threads call it at once.
using Runner = std::function<Totals(const Case&)>;

struct CampaignOptions {
    std::uint64_t cases = 0;
    std::uint64_t seed = 1; ///< seed of the first case; the others follow
    unsigned commands = 100;
    unsigned threads = 0; ///< 0: one for each CPU
    bool shrink = true;
    Runner run = fuzz::run;
    /// Called now and then, by any thread, one call at a time, with the share done, 0..1.
    std::function<void(double)> progress;
};

struct Failure {
    std::uint64_t seed;
    std::string violation;
    Case drawn;
    Case shrunk;
    std::string shrunk_violation;
};

struct CampaignResult {
    std::uint64_t cases = 0; ///< clean cases
    Totals totals;
    std::optional<Failure> failure; ///< of the first case that fails, from the seed on
};

/// Returns the violation of a case, if any. Other exceptions of the runner are passed on.
std::optional<std::string> violation_of(const Case& of, const Runner& runner = run);

/// Runs cases until one fails or all are clean. The failure does not depend on the number of
/// threads. Any other exception than Violation ends the campaign and is thrown again.
CampaignResult campaign(const CampaignOptions& options);

} // namespace overtake::fuzz
