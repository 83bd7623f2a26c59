// SPDX-License-Identifier: MIT
//
// Learned costs from what pieces and meetings took.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/cores/learned_costs.hpp"

namespace overtake::host_profile {

/// What one piece or meeting took; `layer` is the same of all that belong to layers of one shape.
struct CostSample {
    unsigned opcode = 0;
    std::vector<double> features;
    double ns = 0;
    std::size_t layer = 0;
};

/// Trees for targets from rows of features.
using GrowTrees = std::function<compiler::CostTrees(std::span<const std::vector<double>> rows,
                                                    std::span<const double> targets)>;

/// Of layers that were left out when the price was learned: means of |price / measured - 1|.
struct KindErrors {
    std::string name; ///< instruction, or "exchange"
    std::size_t layers = 0, samples = 0;
    double formula = 0, trees = 0;
    bool uses_trees = false; ///< they help
};

struct Trained {
    compiler::LearnedCosts costs;
    std::vector<KindErrors> kinds;
};

/// Formulas with the least squares of relative errors.  `features` counts those that it weighs.
compiler::CostFormula fit_formula(std::span<const CostSample> samples, std::size_t features);

/// For each sample which of `folds` it is left out of: layers of a kind take turns.
std::vector<std::size_t> folds_by_layer(std::span<const CostSample> samples, std::size_t folds);

/// Learns from all, and validates with layers left out.  Without `grow` there are no trees.
/// `pieces` is not empty.
Trained train(std::span<const CostSample> pieces, std::span<const CostSample> meetings,
              const GrowTrees& grow);

} // namespace overtake::host_profile
