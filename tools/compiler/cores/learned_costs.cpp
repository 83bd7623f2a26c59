// SPDX-License-Identifier: MIT
#include "compiler/cores/learned_costs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace overtake::compiler {
namespace {

constexpr double least_share = 0.1, greatest_share = 10;

constexpr double least_ns = 1, greatest_ns = 1e12;

double price(const CostFormula& formula, bool uses_trees, const CostTrees& trees,
             std::span<const double> features) {
    double ns = formula.evaluate(features.first(formula.sums.at(0).size()));
    if (uses_trees)
        ns *= trees.factor(features);
    return std::clamp(ns, least_ns, greatest_ns);
}

// Rounds a price to whole units, without a function of the system's library.
std::uint64_t rounded(double value) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(value + 0.5));
}

} // namespace

double CostFormula::evaluate(std::span<const double> features) const {
    double greatest = 0;
    for (const std::vector<double>& sum : sums)
        greatest =
            std::max(greatest, std::inner_product(sum.begin(), sum.end(), features.begin(), 0.0));
    return greatest;
}

double CostTree::evaluate(std::span<const double> features) const {
    const Node* node = nodes.data();
    while (node->left != 0)
        node = &nodes[static_cast<float>(features[node->feature]) < node->below ? node->left
                                                                                : node->right];
    return node->value;
}

double CostTrees::evaluate(std::span<const double> features) const {
    double sum = 0;
    for (const CostTree& tree : trees)
        sum += tree.evaluate(features);
    return sum;
}

double CostTrees::factor(std::span<const double> features) const {
    return std::clamp(1 + evaluate(features), least_share, greatest_share);
}

double LearnedCosts::piece_ns(const PieceFeatures& features, unsigned opcode) const {
    const auto kind = kinds.find(opcode);
    return kind == kinds.end()
               ? price(others, false, compute, features)
               : price(kind->second.formula, kind->second.uses_trees, compute, features);
}

double LearnedCosts::piece_ns(const overtake_insn& piece) const {
    return piece_ns(features_of(piece), piece.opcode);
}

double LearnedCosts::meeting_ns(const MeetingFeatures& features) const {
    return price(meeting.formula, meeting.uses_trees, exchange, features);
}

std::uint64_t LearnedPrices::cycles(const overtake_insn& insn, std::size_t) const {
    return rounded(costs_.piece_ns(insn) * cycles_each_ns_);
}

std::uint64_t LearnedPrices::fc_cycles(std::size_t) const {
    return static_cast<std::uint64_t>(costs_.fc_ns * cycles_each_ns_ + 0.5);
}

std::uint64_t LearnedPrices::meeting_ns(const Meeting& meeting) const {
    return rounded(costs_.meeting_ns(features_of(meeting)));
}

} // namespace overtake::compiler
