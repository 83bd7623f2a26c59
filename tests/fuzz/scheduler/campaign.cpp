// SPDX-License-Identifier: MIT
#include "scheduler/campaign.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <thread>

#include "scheduler/shrink.hpp"
#include "scheduler/violation.hpp"
#include "simulator/parallel.hpp"

namespace overtake::fuzz {
namespace {

/// Cases that are taken at a time.
constexpr std::uint64_t portion = 64;

class Campaign {
public:
    explicit Campaign(const CampaignOptions& options) : options_(options) {}

    CampaignResult run() {
        unsigned threads = options_.threads;
        if (threads == 0)
            threads = std::max(1u, std::thread::hardware_concurrency());
        simulator::for_each_index((options_.cases + portion - 1) / portion, threads,
                                  options_.progress,
                                  [this](std::size_t i) { run_portion(i * portion); });
        if (result_.failure && options_.shrink)
            shrink_failure();
        return std::move(result_);
    }

private:
    /// Every case before the first one that fails is run, whichever thread is faster; so which case
    /// that is does not depend on the threads.
    void run_portion(std::uint64_t first) {
        const std::uint64_t last = std::min(first + portion, options_.cases);
        Totals totals;
        std::uint64_t clean = 0;
        for (std::uint64_t i = first; i < last && i < stop_; i++)
            clean += one(i, totals);
        const std::lock_guard lock(mutex_);
        result_.cases += clean;
        result_.totals += totals;
    }

    /// 1 if it is clean.
    std::uint64_t one(std::uint64_t index, Totals& totals) {
        const std::uint64_t seed = options_.seed + index;
        const Case drawn = draw(seed, options_.commands);
        try {
            totals += options_.run(drawn);
            return 1;
        } catch (const Violation& violation) {
            const std::lock_guard lock(mutex_);
            if (index < stop_) {
                stop_ = index;
                result_.failure = {seed, violation.what(), drawn, drawn, violation.what()};
            }
            return 0;
        }
    }

    void shrink_failure() {
        Failure& failure = *result_.failure;
        const auto violation = [this](const Case& of) { return violation_of(of, options_.run); };
        failure.shrunk =
            shrink(failure.drawn, [&](const Case& of) { return violation(of).has_value(); });
        failure.shrunk_violation = *violation(failure.shrunk);
    }

    const CampaignOptions& options_;
    /// The first case that failed so far, counted from 0: those behind it need not be run.
    std::atomic<std::uint64_t> stop_ = std::numeric_limits<std::uint64_t>::max();
    std::mutex mutex_;
    CampaignResult result_;
};

} // namespace

std::optional<std::string> violation_of(const Case& of, const Runner& runner) {
    try {
        runner(of);
        return std::nullopt;
    } catch (const Violation& violation) {
        return violation.what();
    }
}

CampaignResult campaign(const CampaignOptions& options) {
    return Campaign(options).run();
}

} // namespace overtake::fuzz
