// SPDX-License-Identifier: MIT
#include "compiler/cores/balance.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace overtake::compiler {
namespace {

class Balance {
public:
    Balance(const overtake_insn& insn, std::span<const double> speeds, const SharePrice& price)
        : insn_(insn), speeds_(speeds), price_(price),
          positions_(apportion(position_count(insn), speeds)), times_(speeds.size()) {}

    std::optional<Shares> run(const BalanceOptions& options) {
        std::uint64_t step = options.step > 0
                                 ? options.step
                                 : std::max<std::uint64_t>(1, position_count(insn_) / 32);
        std::pair<std::size_t, std::size_t> before{}; // from, to
        for (std::uint32_t round = 0;; ++round) {
            if (!weigh())
                return best_;
            const auto [fast, slow] = extremes();
            if (round == options.rounds ||
                times_[slow] - times_[fast] <= options.threshold * times_[slow])
                return best_;
            if (round > 0 && before == std::pair{fast, slow}) {
                if (step == 1)
                    return best_;
                step = std::max<std::uint64_t>(1, step / 2);
            }
            const std::uint64_t moved = std::min(step, positions_[slow]);
            positions_[slow] -= moved;
            positions_[fast] += moved;
            before = {slow, fast};
        }
    }

private:
    // Prices the present shares, and keeps them if they are the best so far.  Returns false if
    // pieces cannot make these shares.
    bool weigh() {
        auto now = balanced_shares(insn_, positions_);
        if (!now)
            return false;
        double longest = 0;
        for (std::size_t core = 0; core < times_.size(); ++core) {
            times_[core] = price_(insn_, (*now)[core], core);
            longest = std::max(longest, times_[core]);
        }
        if (longest < longest_) {
            longest_ = longest;
            best_ = std::move(now);
        }
        return true;
    }

    // Returns the cores that are done first and last, out of those that can run the instruction.
    std::pair<std::size_t, std::size_t> extremes() const {
        std::size_t fast = times_.size(), slow = times_.size();
        for (std::size_t core = 0; core < times_.size(); ++core) {
            if (speeds_[core] <= 0)
                continue;
            if (fast == times_.size() || times_[core] < times_[fast])
                fast = core;
            if (slow == times_.size() || times_[core] > times_[slow])
                slow = core;
        }
        return {fast, slow};
    }

    const overtake_insn& insn_;
    const std::span<const double> speeds_;
    const SharePrice& price_;
    std::vector<std::uint64_t> positions_;
    std::vector<double> times_;
    std::optional<Shares> best_;
    double longest_ = std::numeric_limits<double>::infinity();
};

} // namespace

SharePrice model_price(std::span<const std::shared_ptr<const ovt_profile>> cores) {
    return [cores](const overtake_insn& insn, std::span<const Box> boxes, std::size_t core) {
        std::uint64_t cycles = 0;
        for (const Box& box : boxes)
            cycles += piece_cost(insn, box, *cores[core]);
        return static_cast<double>(cycles) * 1e6 / cores[core]->clock_khz;
    };
}

SharePrice share_price(const CorePrices& prices,
                       std::span<const std::shared_ptr<const ovt_profile>> cores) {
    return
        [&prices, cores](const overtake_insn& insn, std::span<const Box> boxes, std::size_t core) {
            std::uint64_t cycles = 0;
            for (const Box& box : boxes)
                cycles += is_empty(box) ? 0 : prices.cycles(piece_shape(insn, box), core);
            return static_cast<double>(cycles) * 1e6 / cores[core]->clock_khz;
        };
}

std::optional<Shares> balance(const overtake_insn& insn, std::span<const double> speeds,
                              const SharePrice& price, const BalanceOptions& options) {
    if (!can_cut(insn))
        return std::nullopt;
    return Balance(insn, speeds, price).run(options);
}

} // namespace overtake::compiler
