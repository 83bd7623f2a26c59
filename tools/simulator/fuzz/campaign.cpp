// SPDX-License-Identifier: MIT
#include "simulator/fuzz/campaign.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "simulator/fuzz/shrink.hpp"
#include "simulator/fuzz/violation.hpp"

namespace overtake::fuzz {
namespace {

/// Cases that a thread takes at a time.
constexpr std::uint64_t portion = 64;

class Campaign {
public:
    explicit Campaign(const CampaignOptions& options) : options_(options) {}

    CampaignResult run() {
        unsigned count = options_.threads;
        if (count == 0)
            count = std::max(1u, std::thread::hardware_concurrency());
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < count; i++)
            threads.emplace_back([this] { work(); });
        threads.clear();
        if (broken_)
            std::rethrow_exception(broken_);
        if (result_.failure && options_.shrink)
            shrink_failure();
        return std::move(result_);
    }

private:
    void work() {
        try {
            take_portions();
        } catch (...) {
            stop_.store(0);
            const std::lock_guard lock(mutex_);
            if (!broken_)
                broken_ = std::current_exception();
        }
    }

    /// Every case before the first one that fails is run, whichever thread is faster; so which case
    /// that is does not depend on the threads. Portions are taken in order.
    void take_portions() {
        Totals totals;
        std::uint64_t clean = 0;
        for (;;) {
            const std::uint64_t first = next_.fetch_add(portion);
            if (first >= options_.cases || first >= stop_)
                break;
            const std::uint64_t last = std::min(first + portion, options_.cases);
            for (std::uint64_t i = first; i < last && i < stop_; i++)
                clean += one(i, totals);
            tell_progress(last - first);
        }
        const std::lock_guard lock(mutex_);
        result_.cases += clean;
        result_.totals += totals;
    }

    void tell_progress(std::uint64_t cases) {
        const std::lock_guard lock(mutex_);
        done_ += cases;
        if (options_.progress)
            options_.progress(static_cast<double>(done_) / static_cast<double>(options_.cases));
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
    std::atomic<std::uint64_t> next_ = 0;
    /// Of the cases from 0; those from here on need not be run: it failed, or the campaign broke
    /// off.
    std::atomic<std::uint64_t> stop_ = std::numeric_limits<std::uint64_t>::max();
    std::mutex mutex_;
    std::exception_ptr broken_; ///< what was thrown that is no Violation
    std::uint64_t done_ = 0;
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
