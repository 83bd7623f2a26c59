// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "scheduler/case.hpp"
#include "scheduler/host.hpp"

namespace overtake::fuzz {

/// Carries out a case; throws Violation. Called from several threads at once.
using Runner = std::function<Totals(const Case&)>;

struct CampaignOptions {
    std::uint64_t cases = 0;
    std::uint64_t seed = 1; ///< of the first case; the others follow
    unsigned commands = 100;
    unsigned threads = 0; ///< 0: one for each CPU
    bool shrink = true;
    Runner run = fuzz::run;
    /// Now and then, from any thread, one at a time, with the part done, 0..1.
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
    std::uint64_t cases = 0; ///< clean ones
    Totals totals;
    std::optional<Failure> failure; ///< of the first case that fails, from the seed on
};

/// What the case violates, if anything. Throws what else the runner throws.
std::optional<std::string> violation_of(const Case& of, const Runner& runner = run);

/// Runs cases until one fails or all are clean. The failure is the same for any number of threads.
/// What a case throws that is no Violation ends the campaign and is thrown again.
CampaignResult campaign(const CampaignOptions& options);

} // namespace overtake::fuzz
