// SPDX-License-Identifier: MIT
#include "processors_plan.hpp"

#include <algorithm>
#include <iterator>

namespace overtake::test::processors {

namespace {

using Units = std::vector<std::size_t>;

/// The best end of the units up to j with the last piece on q, and the last piece of that best
/// plan.
struct Best {
    Time end = 0;             ///< f(j, q)
    std::size_t first = 0;    ///< of the last piece: i
    std::size_t previous = 0; ///< the processor of the piece before, if there is one: p
};

/// The best begin of a piece whose first unit is i on q, lead included.
struct Begin {
    Time at = 0;              ///< g(i, q)
    std::size_t previous = 0; ///< p
};

class ChainPlanner {
public:
    ChainPlanner(const Situation& situation, const Units& units)
        : situation_(situation), units_(units), processors_(situation.overheads.size()) {}

    PlannedChain plan() {
        for (std::size_t j = 0; j < units_.size(); j++) {
            begins_.emplace_back();
            for (std::size_t q = 0; q < processors_; q++)
                begins_[j].push_back(begin(j, q));
            bests_.emplace_back();
            for (std::size_t q = 0; q < processors_; q++)
                bests_[j].push_back(best(j, q));
        }
        return trace_back();
    }

private:
    Time free_time(std::size_t q) const { return std::ranges::min(situation_.free_times[q]); }

    /// g(i, q)
    std::optional<Begin> begin(std::size_t i, std::size_t q) const {
        if (!situation_.can_run(units_[i], q))
            return {};
        const Time overhead = situation_.overheads[q];
        if (i == 0) {
            Time b = 0;
            Time moves = 0;
            for (const std::size_t before : situation_.model.units[units_[0]].predecessors) {
                b = std::max(b, situation_.available[before]);
                moves += situation_.move(before, *situation_.where[before], q);
            }
            return Begin{overhead + std::max(b, free_time(q)) + moves, 0};
        }
        std::optional<Begin> earliest;
        for (std::size_t p = 0; p < processors_; p++) {
            if (!bests_[i - 1][p])
                continue;
            const Time at = overhead + std::max(bests_[i - 1][p]->end, free_time(q)) +
                            situation_.move(units_[i - 1], p, q);
            if (!earliest || at < earliest->at)
                earliest = Begin{at, p};
        }
        return earliest;
    }

    /// f(j, q)
    std::optional<Best> best(std::size_t j, std::size_t q) const {
        std::optional<Best> best;
        for (std::size_t i = 0; i <= j; i++) {
            const bool can_run_all = std::ranges::all_of(
                piece(i, j), [&](std::size_t unit) { return situation_.can_run(unit, q); });
            if (!can_run_all || !begins_[i][q])
                continue;
            const Time end = begins_[i][q]->at + situation_.expected(piece(i, j), q);
            if (!best || end < best->end)
                best = Best{end, i, begins_[i][q]->previous};
        }
        return best;
    }

    Units piece(std::size_t i, std::size_t j) const {
        return {units_.begin() + static_cast<std::ptrdiff_t>(i),
                units_.begin() + static_cast<std::ptrdiff_t>(j) + 1};
    }

    PlannedChain trace_back() const {
        std::size_t j = units_.size() - 1;
        std::optional<std::size_t> last;
        for (std::size_t q = 0; q < processors_; q++)
            if (bests_[j][q] && (!last || bests_[j][q]->end < bests_[j][*last]->end))
                last = q;
        PlannedChain chain;
        for (std::size_t q = *last;;) {
            const Best& best = *bests_[j][q];
            chain.pieces.insert(chain.pieces.begin(), Piece{piece(best.first, j), q, best.end});
            if (best.first == 0)
                return chain;
            j = best.first - 1;
            q = best.previous;
        }
    }

    const Situation& situation_;
    const Units& units_;
    std::size_t processors_;
    std::vector<std::vector<std::optional<Begin>>> begins_;
    std::vector<std::vector<std::optional<Best>>> bests_;
};

} // namespace

bool has_plan(const Situation& situation) {
    for (std::size_t unit = 0; unit < situation.left.size(); unit++) {
        bool can_run = !situation.left[unit];
        for (std::size_t q = 0; q < situation.overheads.size(); q++)
            can_run = can_run || situation.can_run(unit, q);
        if (!can_run)
            return false;
    }
    return true;
}

Plan make_plan(Situation situation) {
    Plan plan;
    plan.latency = situation.latest_due;
    for (const Units& chain : situation.model.chains) {
        Units units;
        std::ranges::copy_if(chain, std::back_inserter(units),
                             [&](std::size_t unit) { return situation.left[unit]; });
        if (units.empty())
            continue;
        PlannedChain planned = ChainPlanner(situation, units).plan();
        for (const Piece& piece : planned.pieces) {
            std::vector<Time>& free_times = situation.free_times[piece.processor];
            *std::ranges::min_element(free_times) = piece.end;
            for (const std::size_t unit : piece.units) {
                situation.where[unit] = piece.processor;
                situation.available[unit] = piece.end;
            }
        }
        planned.ready =
            std::ranges::all_of(situation.model.units[units[0]].predecessors,
                                [&](std::size_t before) { return situation.finished[before]; });
        plan.latency = std::max(plan.latency, planned.pieces.back().end);
        plan.chains.push_back(planned);
    }
    return plan;
}

} // namespace overtake::test::processors
