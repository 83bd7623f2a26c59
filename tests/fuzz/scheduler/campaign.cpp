// SPDX-License-Identifier: MIT
#include "scheduler/campaign.hpp"

#include <mutex>

#include "scheduler/first_failure.hpp"
#include "scheduler/shrink.hpp"
#include "scheduler/violation.hpp"

namespace overtake::fuzz {

std::optional<std::string> violation_of(const Case& of, const Runner& runner) {
    try {
        runner(of);
        return std::nullopt;
    } catch (const Violation& violation) {
        return violation.what();
    }
}

CampaignResult campaign(const CampaignOptions& options) {
    CampaignResult result;
    std::mutex mutex;
    const auto case_at = [&](std::uint64_t index) {
        return draw(options.seed + index, options.commands);
    };
    const auto failed = first_failure(options.cases, options.threads, options.progress,
                                      [&](std::uint64_t index) -> std::optional<std::string> {
                                          try {
                                              const Totals totals = options.run(case_at(index));
                                              const std::lock_guard lock(mutex);
                                              result.cases++;
                                              result.totals += totals;
                                              return std::nullopt;
                                          } catch (const Violation& violation) {
                                              return violation.what();
                                          }
                                      });
    if (!failed)
        return result;
    const Case drawn = case_at(failed->index);
    result.failure = {options.seed + failed->index, failed->what, drawn, drawn, failed->what};
    if (!options.shrink)
        return result;
    Failure& failure = *result.failure;
    const auto violation = [&](const Case& of) { return violation_of(of, options.run); };
    failure.shrunk = shrink(drawn, [&](const Case& of) { return violation(of).has_value(); });
    failure.shrunk_violation = *violation(failure.shrunk);
    return result;
}

} // namespace overtake::fuzz
