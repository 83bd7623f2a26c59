// SPDX-License-Identifier: MIT
//
// Learns costs from the times of pieces and meetings.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/cores/learned_costs.hpp"

namespace overtake::host_profile {

/// The time of one piece or meeting.  Samples of layers of one shape have the same `layer`.
struct CostSample {
    unsigned opcode = 0;
    std::vector<double> features;
    double ns = 0;
    std::size_t layer = 0;
};

/// Returns trees for targets from rows of features.
using GrowTrees = std::function<compiler::CostTrees(std::span<const std::vector<double>> rows,
                                                    std::span<const double> targets)>;

/// The mean errors, |price / measured - 1|, of layers that were left out when the price was
/// learned.
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

/// Fits a formula by least squares of relative errors.  It weighs the first `features` features.
compiler::CostFormula fit_formula(std::span<const CostSample> samples, std::size_t features);

/// Returns, for each sample, the number of the fold that it belongs to.  Layers of a kind take
/// turns.
std::vector<std::size_t> folds_by_layer(std::span<const CostSample> samples, std::size_t folds);

/// Learns from all samples, and validates with layers left out.  Without `grow` there are no trees.
/// `pieces` is not empty.
Trained train(std::span<const CostSample> pieces, std::span<const CostSample> meetings,
              const GrowTrees& grow);

} // namespace overtake::host_profile
