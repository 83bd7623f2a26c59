// SPDX-License-Identifier: MIT
//
// Learning of costs: least squares without negative numbers, layers that are left out, trees, and
// plans by learned prices.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "compiler/cores/generate.hpp"
#include "compiler/cores/growth.hpp"
#include "compiler/cores/plan.hpp"
#include "compiler/host_profile/boosting.hpp"
#include "compiler/host_profile/measured_shares.hpp"
#include "compiler/host_profile/network.hpp"
#include "compiler/host_profile/nnls.hpp"
#include "compiler/host_profile/partition_costs.hpp"
#include "compiler/host_profile/pieces.hpp"
#include "overtake/error.hpp"

namespace overtake::host_profile {
namespace {

using Random = std::mt19937;

struct Problem {
    std::vector<std::vector<double>> rows;
    std::vector<double> right;

    std::vector<double> solve() const {
        NormalEquations equations(rows[0].size());
        for (std::size_t row = 0; row < rows.size(); ++row)
            equations.add(rows[row], right[row]);
        return equations.solve_non_negative();
    }
    // Returns the slope of half the squared error.
    double slope(std::size_t column, const std::vector<double>& x) const {
        double sum = 0;
        for (std::size_t row = 0; row < rows.size(); ++row) {
            double rest = -right[row];
            for (std::size_t each = 0; each < x.size(); ++each)
                rest += rows[row][each] * x[each];
            sum += rest * rows[row][column];
        }
        return sum;
    }
};

Problem random_problem(Random& random) {
    std::normal_distribution<double> noise;
    Problem problem;
    const std::size_t columns = 1 + random() % 7;
    std::vector<double> truth(columns), scale(columns);
    for (std::size_t column = 0; column < columns; ++column) {
        truth[column] = noise(random);
        scale[column] = std::pow(10, static_cast<int>(random() % 9) - 4);
    }
    for (std::size_t row = 0; row < 40; ++row) {
        std::vector<double>& values = problem.rows.emplace_back(columns);
        double right = 0.1 * noise(random);
        for (std::size_t column = 0; column < columns; ++column) {
            const double value = noise(random) + 2; // the columns are much alike
            values[column] = value * scale[column];
            right += value * truth[column];
        }
        problem.right.push_back(right);
    }
    return problem;
}

CostSample sample(unsigned opcode, std::size_t layer, double operations, double ns) {
    CostSample of{opcode, std::vector<double>(compiler::piece_features), ns, layer};
    of.features[1] = operations;
    return of;
}

const KindErrors& kind_of(const Trained& trained, const std::string& name) {
    const auto found = std::ranges::find(trained.kinds, name, &KindErrors::name);
    if (found == trained.kinds.end())
        throw std::logic_error("no kind " + name);
    return *found;
}

} // namespace

TEST(NonNegativeLeastSquares, NoStepMakesTheErrorLess) {
    Random random(1);
    std::size_t zeros = 0, positives = 0;
    for (int round = 0; round < 2000; ++round) {
        const Problem problem = random_problem(random);
        const std::vector<double> x = problem.solve();
        const std::vector<double> none(x.size());
        for (std::size_t column = 0; column < x.size(); ++column) {
            ASSERT_GE(x[column], 0);
            double length = 0;
            for (const std::vector<double>& row : problem.rows)
                length += row[column] * row[column];
            const double slope = problem.slope(column, x) / std::sqrt(length);
            if (x[column] > 0)
                EXPECT_NEAR(slope, 0, 1e-6) << round;
            else
                EXPECT_GT(slope, -1e-6) << round;
            (x[column] > 0 ? positives : zeros) += 1;
        }
    }
    EXPECT_GT(zeros, 2000u);
    EXPECT_GT(positives, 2000u);
}

// The third column is about the sum of the others, so it is taken first.  Beside both of them, its
// factor would be below 0.
TEST(NonNegativeLeastSquares, LeavesOutAColumnThatBetterOnesReplace) {
    for (const double beyond : {0.01, 0.05, 0.4}) {
        Problem problem{{{1, 0, 1}, {0, 1, 1}, {0, 0, 0.5}}, {1, 1, -beyond}};
        const std::vector<double> x = problem.solve();
        EXPECT_NEAR(x[0], 1, 1e-9);
        EXPECT_NEAR(x[1], 1, 1e-9);
        EXPECT_EQ(x[2], 0);
    }
}

TEST(NonNegativeLeastSquares, CopesWithColumnsThatAreAlikeOrEmpty) {
    Problem problem;
    for (const double value : {1.0, 2.0, 5.0}) {
        problem.rows.push_back({value, 0, value, 2 * value});
        problem.right.push_back(3 * value);
    }
    const std::vector<double> x = problem.solve();
    EXPECT_EQ(x[1], 0);
    EXPECT_NEAR(x[0] + x[2] + 2 * x[3], 3, 1e-9);
}

TEST(FitFormula, FindsTheGreaterOfTwoSums) {
    Random random(5);
    std::vector<CostSample> samples;
    for (int round = 0; round < 400; ++round) {
        CostSample of{1, {1, 10.0 + random() % 10000, 0, 10.0 + random() % 10000}, 0, 0};
        of.ns = 50 + std::max(0.5 * of.features[1], 0.2 * of.features[3]);
        samples.push_back(of);
    }
    const compiler::CostFormula formula = fit_formula(samples, 4);
    for (const CostSample& of : samples)
        EXPECT_NEAR(formula.evaluate(of.features) / of.ns, 1, 1e-3);
}

TEST(LeaveOut, EachLayerIsInOneFoldAndLayersTakeTurns) {
    std::vector<CostSample> samples;
    for (std::size_t index = 0; index < 200; ++index)
        samples.push_back(sample(index % 2, index % 14, 1, 1));
    const std::vector<std::size_t> folds = folds_by_layer(samples, 5);
    std::map<std::pair<unsigned, std::size_t>, std::set<std::size_t>> of_layer;
    std::map<std::pair<unsigned, std::size_t>, std::set<std::size_t>> layers_in;
    for (std::size_t index = 0; index < samples.size(); ++index) {
        of_layer[{samples[index].opcode, samples[index].layer}].insert(folds[index]);
        layers_in[{samples[index].opcode, folds[index]}].insert(samples[index].layer);
    }
    for (const auto& [layer, in] : of_layer)
        EXPECT_EQ(in.size(), 1u);
    EXPECT_EQ(layers_in.size(), 10u);
    for (const auto& [fold, layers] : layers_in)
        EXPECT_LE(layers.size(), 2u);
}

TEST(LeaveOut, ErrorsAreOfLayersThatNothingWasLearnedFrom) {
    // One of the two layers costs twice what the other does, so each foretells the other badly.
    std::vector<CostSample> samples;
    for (int index = 1; index <= 50; ++index) {
        samples.push_back(sample(OVERTAKE_OP_CONV, 0, index * 100, index * 1000));
        samples.push_back(sample(OVERTAKE_OP_CONV, 1, index * 100, index * 2000));
    }
    const Trained trained = train(samples, {}, {});
    const KindErrors& errors = kind_of(trained, "CONV");
    EXPECT_EQ(errors.layers, 2u);
    EXPECT_EQ(errors.samples, 100u);
    EXPECT_NEAR(errors.formula, (1.0 + 0.5) / 2, 1e-6);
    EXPECT_FALSE(errors.uses_trees);
}

TEST(LeaveOut, TreesAreUsedWhereTheyHelpAlone) {
    // Half of the pieces of one kind take longer, because of a feature that no formula has.
    Random random(7);
    constexpr auto channels = static_cast<std::size_t>(compiler::PieceFeature::channels);
    std::vector<CostSample> samples;
    for (std::size_t index = 0; index < 600; ++index) {
        const double operations = 1000 + random() % 1000;
        samples.push_back(sample(OVERTAKE_OP_CONV, index % 12, operations, operations));
        samples.back().features[channels] = index % 2 == 0 ? 8 : 24;
        samples.back().ns *= index % 2 == 0 ? 1 : 2;
        samples.push_back(sample(OVERTAKE_OP_ADD, index % 12, operations, 3 * operations));
    }
    std::size_t grown = 0;
    const GrowTrees by_channels = [&](std::span<const std::vector<double>> rows,
                                      std::span<const double> targets) {
        ++grown;
        double sums[2] = {}, counts[2] = {};
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const std::size_t side = rows[row][channels] < 16 ? 0 : 1;
            sums[side] += targets[row];
            ++counts[side];
        }
        compiler::CostTree tree;
        tree.nodes = {{channels, 16, 1, 2, 0},
                      {0, 0, 0, 0, sums[0] / counts[0]},
                      {0, 0, 0, 0, sums[1] / counts[1]}};
        return compiler::CostTrees{{tree}};
    };
    const Trained trained = train(samples, {}, by_channels);
    EXPECT_GT(grown, 10u);
    EXPECT_TRUE(kind_of(trained, "CONV").uses_trees);
    EXPECT_FALSE(kind_of(trained, "ADD").uses_trees);
    EXPECT_TRUE(trained.costs.kinds.at(OVERTAKE_OP_CONV).uses_trees);
    EXPECT_FALSE(trained.costs.kinds.at(OVERTAKE_OP_ADD).uses_trees);
    EXPECT_EQ(trained.costs.compute.trees.size(), 1u);
    EXPECT_LT(kind_of(trained, "CONV").trees, 0.7 * kind_of(trained, "CONV").formula);
}

TEST(Boosting, GrowsTheSameTreesThatFitEachTime) {
    std::unique_ptr<Boosting> boosting;
    try {
        boosting = std::make_unique<Boosting>();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("libxgboost0"), std::string::npos);
        GTEST_SKIP() << "SKIPPED: needs libxgboost0";
    }
    Random random(9);
    std::vector<std::vector<double>> rows;
    std::vector<double> targets;
    for (int index = 0; index < 2000; ++index) {
        rows.push_back({static_cast<double>(random() % 100), static_cast<double>(random() % 100)});
        targets.push_back(rows.back()[0] < 40 ? 0.5 : rows.back()[1] < 70 ? -0.25 : 0.75);
    }
    const compiler::CostTrees trees = boosting->grow(rows, targets);
    ASSERT_FALSE(trees.trees.empty());
    for (std::size_t row = 0; row < rows.size(); ++row)
        ASSERT_NEAR(trees.evaluate(rows[row]), targets[row], 0.01);
    const compiler::CostTrees again = boosting->grow(rows, targets);
    for (std::size_t row = 0; row < rows.size(); ++row)
        ASSERT_EQ(again.evaluate(rows[row]), trees.evaluate(rows[row]));
}

TEST(Pieces, AreOfAllLayersInTurnsAndNoneTwice) {
    std::vector<PieceNetwork> networks;
    networks.push_back(piece_network(layers_of_every_kind()));
    const std::vector<Piece> pieces = pieces_of(networks, 3000);
    ASSERT_EQ(pieces.size(), 3000u);
    std::map<std::size_t, std::size_t> by_shape;
    std::set<std::vector<std::size_t>> seen;
    for (const Piece& piece : pieces) {
        ++by_shape[piece.shape];
        EXPECT_TRUE(seen.insert({piece.shape, piece.box.row, piece.box.rows, piece.box.column,
                                 piece.box.columns, piece.box.channel, piece.box.channels})
                        .second);
    }
    EXPECT_GT(by_shape.size(), 100u);
    const auto most =
        std::ranges::max_element(by_shape, {}, [](const auto& shape) { return shape.second; });
    EXPECT_LT(most->second, 100u);
}

TEST(MeasuredShares, MeasureEachShapeOnce) {
    const PieceNetwork network = piece_network(layers_of_every_kind());
    const auto count = std::make_shared<std::size_t>(0);
    const compiler::SharePrice price = measured_shares(1, count)(network.graph, network.quantised,
                                                                 network.program, network.segments);
    EXPECT_EQ(*count, 0u);
    const compiler::SegmentLayers& segment = network.segments[0];
    const auto conv = std::ranges::find(segment.layers, OVERTAKE_OP_CONV,
                                        [](const auto& layer) { return layer.step.insn.opcode; });
    ASSERT_NE(conv, segment.layers.end());
    const overtake_insn& insn = conv->step.insn;
    const compiler::Shares halves =
        *compiler::shares(insn, compiler::Scheme::row, std::vector<double>{1, 1});
    const double first = price(insn, halves[0], 0),
                 all = price(insn, std::vector{compiler::whole(insn)}, 1);
    EXPECT_EQ(*count, 2u);
    EXPECT_GE(first, 1);
    EXPECT_EQ(price(insn, halves[0], 1), first) << "measured again";
    EXPECT_EQ(price(insn, std::vector{halves[0][0], compiler::whole(insn)}, 1), first + all);
    EXPECT_EQ(price(insn, {}, 0), 0);
    EXPECT_EQ(*count, 2u);
}

TEST(PartitionCosts, OfTheCycleModelAreWithinOnePercentAndSoAreTheirPlans) {
    PartitionOptions options;
    options.profile = "default";
    options.pieces = 6000;
    options.trees = false;
    const PartitionCosts learned = learn_partition_costs(options);
    EXPECT_EQ(learned.pieces, 6000u);
    double sum = 0, samples = 0;
    for (const KindErrors& kind : learned.trained.kinds) {
        std::cout << kind.name << ": " << kind.layers << " layers, error " << kind.formula << "\n";
        if (kind.layers < 2) // when the only layer is left out, there is nothing to learn from
            continue;
        sum += kind.formula * static_cast<double>(kind.samples);
        samples += static_cast<double>(kind.samples);
    }
    EXPECT_LE(sum / samples, 0.01);

    const PieceNetwork network = piece_network(layers_of_every_kind());
    const std::shared_ptr<const ovt_profile> core(ovt_profile_find("default"),
                                                  [](const ovt_profile*) {});
    for (const std::size_t count : {2, 4}) {
        const std::vector<std::shared_ptr<const ovt_profile>> cores(count, core);
        compiler::SearchOptions by_model{cores, {}, core->sync_cycles};
        compiler::SearchOptions by_learned = by_model;
        const compiler::LearnedPrices prices(learned.trained.costs, *core);
        by_learned.prices = &prices;
        const std::uint64_t exact = compiler::search(network.segments[0], by_model).ns;
        const compiler::FoundBlocks found = compiler::search(network.segments[0], by_learned);
        std::uint64_t ns = 0;
        std::size_t before = compiler::no_stage_before;
        for (const compiler::Block& block : found.blocks) {
            const compiler::ModelPrices model(cores, core->sync_cycles);
            compiler::Growth priced(network.segments[0], block.first_layer + block.layer_count - 1,
                                    block.shares, &model);
            while (priced.first() > block.first_layer && priced.take_in())
                ;
            ns += compiler::stage_ns(by_model, priced.cycles(), before);
            const std::size_t only = compiler::only_core(block);
            before = only == compiler::no_core ? compiler::several_cores : only;
        }
        EXPECT_LE(static_cast<double>(ns), 1.01 * static_cast<double>(exact)) << count;
        EXPECT_GE(ns, exact);
    }
}

} // namespace overtake::host_profile
