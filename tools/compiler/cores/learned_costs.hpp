// SPDX-License-Identifier: MIT
//
// Prices that were learned from measurements: a formula for each kind of instruction, and trees for
// its errors.  `overtake calibrate --partition` makes them (docs/use/cores.md).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/cores/features.hpp"
#include "compiler/cores/prices.hpp"

namespace overtake::compiler {

/// The greatest of several sums.  A sum adds up features, each times a coefficient of at least 0.
struct CostFormula {
    std::vector<std::vector<double>> sums;

    double evaluate(std::span<const double> features) const;
};

/// A decision tree; the first node is its root.
struct CostTree {
    struct Node {
        std::size_t feature = 0;
        float below = 0;                 ///< features less than this go left
        std::size_t left = 0, right = 0; ///< nodes behind this one; both 0: a leaf
        double value = 0;                ///< of a leaf
    };
    std::vector<Node> nodes;

    double evaluate(std::span<const double> features) const;
};

/// A sum of trees: the difference of the real price from the formula's, as a part of the latter.
struct CostTrees {
    std::vector<CostTree> trees;

    double evaluate(std::span<const double> features) const;

    /// Returns the factor for the formula's price.  It has bounds, since trees are made from few of
    /// all possible pieces.
    double factor(std::span<const double> features) const;
};

struct LearnedCosts {
    struct Kind {
        CostFormula formula;
        bool uses_trees = false;
    };

    std::string source;             ///< for people: which host or profile they are of
    std::map<unsigned, Kind> kinds; ///< by opcode
    CostFormula others;             ///< of opcodes that are not in `kinds`
    CostTrees compute;
    Kind meeting;
    CostTrees exchange;
    double fc_ns = 0; ///< time of an FC beside its instructions

    /// The next functions return nanoseconds, at least 1.
    double piece_ns(const overtake_insn& piece) const;
    double meeting_ns(const MeetingFeatures& features) const;
    double piece_ns(const PieceFeatures& features, unsigned opcode) const;
};

/// Learned costs in cycles of `core`, whose clock all cores have.  The costs outlive the prices.
class LearnedPrices final : public CorePrices {
public:
    LearnedPrices(const LearnedCosts& costs, const ovt_profile& core)
        : costs_(costs), cycles_each_ns_(core.clock_khz / 1e6) {}

    std::uint64_t cycles(const overtake_insn& insn, std::size_t core) const override;
    std::uint64_t fc_cycles(std::size_t core) const override;
    std::uint64_t meeting_ns(const Meeting& meeting) const override;

private:
    const LearnedCosts& costs_;
    double cycles_each_ns_;
};

} // namespace overtake::compiler
