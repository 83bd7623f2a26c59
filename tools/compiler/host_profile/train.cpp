// SPDX-License-Identifier: MIT
#include "compiler/host_profile/train.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "compiler/host_profile/nnls.hpp"
#include "compiler/profile.hpp"

namespace overtake::host_profile {
namespace {

using namespace compiler;

constexpr std::size_t fold_count = 10;
// A second sum, or trees, are used only if they reduce the error below this part of it.
constexpr double worthwhile = 0.9;
constexpr std::size_t least_samples_of_sum = 8;
constexpr std::size_t most_rounds = 30;

using Samples = std::vector<const CostSample*>;

std::vector<double> least_squares(const Samples& samples, std::size_t features) {
    NormalEquations equations(features);
    for (const CostSample* sample : samples) {
        std::vector<double> row(sample->features.begin(),
                                sample->features.begin() + static_cast<std::ptrdiff_t>(features));
        for (double& value : row)
            value /= sample->ns;
        equations.add(row, 1);
    }
    return equations.solve_non_negative();
}

double formula_ns(const CostFormula& formula, const CostSample& sample) {
    const std::size_t features = formula.sums.at(0).size();
    return formula.evaluate(std::span(sample.features).first(features));
}

double mean_error(const CostFormula& formula, const Samples& samples) {
    double sum = 0;
    for (const CostSample* sample : samples)
        sum += std::fabs(formula_ns(formula, *sample) / sample->ns - 1);
    return sum / static_cast<double>(samples.size());
}

double sum_of(const std::vector<double>& coefficients, const CostSample& sample) {
    return std::inner_product(coefficients.begin(), coefficients.end(), sample.features.begin(),
                              0.0);
}

// Fits two sums, such as those of arithmetic and traffic.  The greater one is the price.  The fit
// begins with the samples in two sets; then each sample goes to the sum that prices it.
CostFormula two_sums(Samples first, Samples second, const Samples& all, std::size_t features) {
    CostFormula best;
    double least = INFINITY;
    for (std::size_t round = 0; round < most_rounds; ++round) {
        if (std::min(first.size(), second.size()) < least_samples_of_sum)
            break;
        CostFormula formula{{least_squares(first, features), least_squares(second, features)}};
        if (const double error = mean_error(formula, all); error < least) {
            least = error;
            best = formula;
        }
        Samples next, other;
        for (const CostSample* sample : all)
            (sum_of(formula.sums[0], *sample) >= sum_of(formula.sums[1], *sample) ? next : other)
                .push_back(sample);
        if (next == first)
            break;
        first = std::move(next);
        second = std::move(other);
    }
    return best;
}

// Returns the operations, or the formula's second feature, divided by the sum of the features
// behind it.
double intensity(const CostSample& sample, std::size_t features) {
    double rest = 1;
    for (std::size_t index = 3; index < features; ++index)
        rest += sample.features[index];
    return sample.features[1] / rest;
}

CostFormula fit(const Samples& samples, std::size_t features) {
    CostFormula best{{least_squares(samples, features)}};
    double error = mean_error(best, samples);
    Samples sorted = samples;
    std::ranges::stable_sort(
        sorted, {}, [&](const CostSample* sample) { return intensity(*sample, features); });
    for (const double part : {0.2, 0.4, 0.6, 0.8}) {
        const auto middle =
            sorted.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(sorted.size()));
        const CostFormula two =
            two_sums({middle, sorted.end()}, {sorted.begin(), middle}, samples, features);
        if (two.sums.empty())
            continue;
        if (const double now = mean_error(two, samples); now < worthwhile * error) {
            best = two;
            error = now;
        }
    }
    return best;
}

// A formula for each opcode, and one for opcodes without a formula.
struct Formulas {
    std::map<unsigned, CostFormula> kinds;
    CostFormula others;

    double ns(const CostSample& sample) const {
        const auto kind = kinds.find(sample.opcode);
        return std::max(1.0, formula_ns(kind == kinds.end() ? others : kind->second, sample));
    }
};

Formulas fit_all(const Samples& samples, std::size_t features) {
    std::map<unsigned, Samples> kinds;
    for (const CostSample* sample : samples)
        kinds[sample->opcode].push_back(sample);
    Formulas formulas;
    for (const auto& [opcode, of] : kinds)
        formulas.kinds[opcode] = fit(of, features);
    formulas.others = {{least_squares(samples, features)}};
    return formulas;
}

CostTrees grow_on_rest(const Formulas& formulas, const Samples& samples, const GrowTrees& grow) {
    if (!grow)
        return {};
    std::vector<std::vector<double>> rows;
    std::vector<double> targets;
    for (const CostSample* sample : samples) {
        rows.push_back(sample->features);
        targets.push_back(sample->ns / formulas.ns(*sample) - 1);
    }
    return grow(rows, targets);
}

struct KindSums {
    std::set<std::size_t> layers;
    std::size_t samples = 0;
    double formula = 0, trees = 0;
};

std::map<unsigned, KindSums> validate(std::span<const CostSample> samples, std::size_t features,
                                      const GrowTrees& grow) {
    const std::vector<std::size_t> folds = folds_by_layer(samples, fold_count);
    std::map<unsigned, KindSums> kinds;
    for (std::size_t fold = 0; fold < fold_count; ++fold) {
        Samples learn, check;
        for (std::size_t index = 0; index < samples.size(); ++index)
            (folds[index] == fold ? check : learn).push_back(&samples[index]);
        if (check.empty() || learn.empty())
            continue;
        const Formulas formulas = fit_all(learn, features);
        const CostTrees trees = grow_on_rest(formulas, learn, grow);
        for (const CostSample* sample : check) {
            KindSums& kind = kinds[sample->opcode];
            const double ns = formulas.ns(*sample);
            kind.layers.insert(sample->layer);
            ++kind.samples;
            kind.formula += std::fabs(ns / sample->ns - 1);
            kind.trees += std::fabs(ns * trees.factor(sample->features) / sample->ns - 1);
        }
    }
    return kinds;
}

KindErrors errors_of(std::string name, const KindSums& sums, bool has_trees) {
    KindErrors errors;
    errors.name = std::move(name);
    errors.layers = sums.layers.size();
    errors.samples = sums.samples;
    errors.formula = sums.formula / static_cast<double>(sums.samples);
    errors.trees = sums.trees / static_cast<double>(sums.samples);
    // With one layer there is no other to learn from.
    errors.uses_trees =
        has_trees && errors.layers > 1 && errors.trees < worthwhile * errors.formula;
    return errors;
}

Samples pointers(std::span<const CostSample> samples) {
    Samples result;
    for (const CostSample& sample : samples)
        result.push_back(&sample);
    return result;
}

} // namespace

CostFormula fit_formula(std::span<const CostSample> samples, std::size_t features) {
    return fit(pointers(samples), features);
}

std::vector<std::size_t> folds_by_layer(std::span<const CostSample> samples, std::size_t folds) {
    std::map<std::pair<unsigned, std::size_t>, std::size_t> fold_of;
    std::map<unsigned, std::size_t> seen; // layers of the kind
    std::vector<std::size_t> result;
    for (const CostSample& sample : samples) {
        const auto [found, is_new] = fold_of.try_emplace({sample.opcode, sample.layer});
        if (is_new)
            found->second = seen[sample.opcode]++ % folds;
        result.push_back(found->second);
    }
    return result;
}

Trained train(std::span<const CostSample> pieces, std::span<const CostSample> meetings,
              const GrowTrees& grow) {
    Trained trained;
    const auto has_trees = static_cast<bool>(grow);
    const Samples all = pointers(pieces);
    const Formulas formulas = fit_all(all, formula_features);
    for (const auto& [opcode, sums] : validate(pieces, formula_features, grow)) {
        trained.kinds.push_back(errors_of(std::string(opcode_name(opcode)), sums, has_trees));
        trained.costs.kinds[opcode] = {formulas.kinds.at(opcode), trained.kinds.back().uses_trees};
    }
    for (const auto& [opcode, formula] : formulas.kinds) // of kinds that were never left out
        trained.costs.kinds.try_emplace(opcode, LearnedCosts::Kind{formula, false});
    trained.costs.others = formulas.others;
    if (std::ranges::any_of(trained.kinds, &KindErrors::uses_trees))
        trained.costs.compute = grow_on_rest(formulas, all, grow);

    if (meetings.empty()) {
        trained.costs.meeting.formula = {{std::vector<double>(meeting_features)}};
        return trained;
    }
    const Samples met = pointers(meetings);
    const Formulas exchange = fit_all(met, meeting_features);
    for (const auto& [opcode, sums] : validate(meetings, meeting_features, grow)) {
        trained.kinds.push_back(errors_of("exchange", sums, has_trees));
        trained.costs.meeting.uses_trees = trained.kinds.back().uses_trees;
    }
    trained.costs.meeting.formula = exchange.kinds.begin()->second;
    if (trained.costs.meeting.uses_trees)
        trained.costs.exchange = grow_on_rest(exchange, met, grow);
    return trained;
}

} // namespace overtake::host_profile
