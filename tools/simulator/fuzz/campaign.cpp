// SPDX-License-Identifier: MIT
#include "simulator/fuzz/campaign.hpp"

#include <algorithm>
#include <atomic>
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
        if (result_.failure && options_.shrink)
            shrink_failure();
        return std::move(result_);
    }

private:
    void work() {
        Totals totals;
        std::uint64_t clean = 0;
        for (;;) {
            const std::uint64_t first = next_.fetch_add(portion);
            if (first >= options_.cases || failed_)
                break;
            const std::uint64_t last = std::min(first + portion, options_.cases);
            for (std::uint64_t i = first; i < last; i++)
                clean += one(options_.seed + i, totals);
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
    std::uint64_t one(std::uint64_t seed, Totals& totals) {
        const Case drawn = draw(seed, options_.commands);
        try {
            totals += fuzz::run(drawn);
            return 1;
        } catch (const Violation& violation) {
            const std::lock_guard lock(mutex_);
            failed_ = true;
            if (!result_.failure || seed < result_.failure->seed)
                result_.failure = {seed, violation.what(), drawn, drawn, violation.what()};
            return 0;
        }
    }

    void shrink_failure() {
        Failure& failure = *result_.failure;
        failure.shrunk =
            shrink(failure.drawn, [](const Case& of) { return violation_of(of).has_value(); });
        failure.shrunk_violation = *violation_of(failure.shrunk);
    }

    const CampaignOptions& options_;
    std::atomic<std::uint64_t> next_ = 0;
    std::atomic<bool> failed_ = false;
    std::mutex mutex_;
    std::uint64_t done_ = 0;
    CampaignResult result_;
};

} // namespace

std::optional<std::string> violation_of(const Case& of) {
    try {
        run(of);
        return std::nullopt;
    } catch (const Violation& violation) {
        return violation.what();
    }
}

CampaignResult campaign(const CampaignOptions& options) {
    return Campaign(options).run();
}

} // namespace overtake::fuzz
