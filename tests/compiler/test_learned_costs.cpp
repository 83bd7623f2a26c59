// SPDX-License-Identifier: MIT
//
// Learned costs: the results of trees and formulas, files of costs, and files that are refused.
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/costs_file.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

using Random = std::mt19937;

overtake_insn convolution(std::uint32_t size, std::uint32_t channels) {
    overtake_insn insn{};
    insn.opcode = OVERTAKE_OP_CONV;
    insn.groups = 1;
    insn.kernel_height = insn.kernel_width = 3;
    insn.stride_height = insn.stride_width = insn.dilation_height = insn.dilation_width = 1;
    for (overtake_operand* operand : {&insn.in[0], &insn.out}) {
        operand->height = operand->width = size;
        operand->channels = channels;
    }
    return insn;
}

// If feature 0 is below 10: 1.  Else, if feature 1 is below 0.1f: 2.  Else: 4.
CostTree small_tree() {
    CostTree tree;
    tree.nodes = {
        {0, 10, 1, 2, 0}, {0, 0, 0, 0, 1}, {1, 0.1f, 3, 4, 0}, {0, 0, 0, 0, 2}, {0, 0, 0, 0, 4}};
    return tree;
}

CostTree random_tree(Random& random, std::size_t features) {
    std::uniform_real_distribution<double> value(-0.05, 0.05);
    CostTree tree;
    tree.nodes.resize(7);
    for (std::size_t node = 0; node < 7; ++node)
        if (node < 3)
            tree.nodes[node] = {random() % features, static_cast<float>(random() % 100000) / 7,
                                2 * node + 1, 2 * node + 2, 0};
        else
            tree.nodes[node].value = value(random);
    return tree;
}

LearnedCosts random_costs(Random& random) {
    std::uniform_real_distribution<double> coefficient(0, 3);
    const auto formula = [&](std::size_t features, std::size_t sums) {
        CostFormula of;
        of.sums.resize(sums, std::vector<double>(features));
        for (std::vector<double>& sum : of.sums)
            for (double& each : sum)
                each = random() % 3 == 0 ? 0 : coefficient(random);
        return of;
    };
    LearnedCosts costs;
    costs.source = "a test, \"quoted\"";
    costs.fc_ns = coefficient(random) * 1000;
    for (const unsigned opcode : {OVERTAKE_OP_CONV, OVERTAKE_OP_ADD, OVERTAKE_OP_TABLE})
        costs.kinds[opcode] = {formula(formula_features, 1 + random() % 2), random() % 2 == 0};
    costs.others = formula(formula_features, 1);
    costs.meeting = {formula(meeting_features, 1), true};
    for (int tree = 0; tree < 3; ++tree) {
        costs.compute.trees.push_back(random_tree(random, piece_features));
        costs.exchange.trees.push_back(random_tree(random, meeting_features));
    }
    return costs;
}

std::string error_of(const std::string& text) {
    try {
        parse_costs(text, "costs.json");
    } catch (const CompileError& error) {
        return error.what();
    }
    return "";
}

std::string with(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

} // namespace

TEST(CostTree, GoesLeftBelowAndRightElsewhere) {
    const CostTree tree = small_tree();
    EXPECT_EQ(tree.evaluate(std::vector<double>{9.999, 5}), 1);
    EXPECT_EQ(tree.evaluate(std::vector<double>{10, 0}), 2);
    EXPECT_EQ(tree.evaluate(std::vector<double>{11, 0.2}), 4);
    // Features are compared as floats: 0.1 becomes 0.1f, which is not below itself.
    EXPECT_EQ(tree.evaluate(std::vector<double>{11, 0.1}), 4);
    const CostTrees both{{tree, tree}};
    EXPECT_EQ(both.evaluate(std::vector<double>{10, 0}), 4);
}

TEST(CostTree, MovesAPriceWithinBounds) {
    CostTrees trees;
    EXPECT_EQ(trees.factor({}), 1);
    CostTree tree;
    tree.nodes.resize(1);
    for (const auto& [value, factor] :
         {std::pair{0.25, 1.25}, std::pair{-3.0, 0.1}, std::pair{100.0, 10.0}}) {
        tree.nodes[0].value = value;
        trees.trees = {tree};
        EXPECT_EQ(trees.factor({}), factor);
    }
}

TEST(CostFormula, IsTheGreatestOfItsSums) {
    const CostFormula formula{{{1, 2}, {5, 0}}};
    EXPECT_EQ(formula.evaluate(std::vector<double>{1, 1}), 5);
    EXPECT_EQ(formula.evaluate(std::vector<double>{1, 3}), 7);
}

TEST(LearnedCosts, TreesCountWhereTheyAreUsed) {
    LearnedCosts costs;
    costs.others = {{std::vector<double>(formula_features)}};
    costs.others.sums[0][0] = 100;
    costs.kinds[OVERTAKE_OP_CONV] = {costs.others, false};
    CostTree tree;
    tree.nodes.resize(1);
    tree.nodes[0].value = 0.5;
    costs.compute.trees = {tree};
    EXPECT_EQ(costs.piece_ns(convolution(8, 8)), 100);
    costs.kinds[OVERTAKE_OP_CONV].uses_trees = true;
    EXPECT_EQ(costs.piece_ns(convolution(8, 8)), 150);
    overtake_insn other = convolution(8, 8);
    other.opcode = OVERTAKE_OP_ADD;
    EXPECT_EQ(costs.piece_ns(other), 100);
}

TEST(LearnedCosts, PricesAreInCyclesOfTheCore) {
    LearnedCosts costs;
    costs.others = {{std::vector<double>(formula_features)}};
    costs.others.sums[0][0] = 100;
    costs.meeting = {{{{7, 0, 2}}}, false};
    costs.fc_ns = 10;
    ovt_profile core = *ovt_profile_find("default");
    core.clock_khz = 500'000;
    const LearnedPrices prices(costs, core);
    EXPECT_EQ(prices.cycles(convolution(8, 8), 1), 50u);
    EXPECT_EQ(prices.fc_cycles(1), 5u);
    EXPECT_EQ(prices.meeting_ns({2, 10}), 27u);
}

TEST(PieceFeatures, CountWhatTheCycleModelCounts) {
    const PieceFeatures features = features_of(convolution(10, 24));
    const auto of = [&](PieceFeature feature) {
        return features[static_cast<std::size_t>(feature)];
    };
    EXPECT_EQ(of(PieceFeature::one), 1);
    EXPECT_EQ(of(PieceFeature::operations), 100.0 * 24 * 9 * 24);
    EXPECT_GE(of(PieceFeature::operations_in_tiles), of(PieceFeature::operations));
    EXPECT_EQ(of(PieceFeature::outputs), 2400);
    EXPECT_EQ(of(PieceFeature::rows_of_channels), 240);
    EXPECT_EQ(of(PieceFeature::inputs), 2400);
    EXPECT_GE(of(PieceFeature::constants), 24.0 * 9 * 24);
    EXPECT_EQ(of(PieceFeature::kernel), 9);
}

TEST(CostsFile, ReadsBackAsTheSameToTheLastBit) {
    Random random(1);
    for (int round = 0; round < 20; ++round) {
        const LearnedCosts costs = random_costs(random);
        const std::string text = costs_file(costs);
        const LearnedCosts again = parse_costs(text, "costs.json");
        EXPECT_EQ(costs_file(again), text);
        EXPECT_EQ(again.source, costs.source);
        EXPECT_EQ(again.fc_ns, costs.fc_ns);
        for (int piece = 0; piece < 50; ++piece) {
            overtake_insn insn = convolution(1 + random() % 60, 1 + random() % 200);
            insn.opcode =
                static_cast<std::uint16_t>(piece % 3 == 0 ? OVERTAKE_OP_MAX : OVERTAKE_OP_CONV);
            EXPECT_EQ(again.piece_ns(insn), costs.piece_ns(insn));
            const MeetingFeatures meeting = features_of(Meeting{2, random() % 1000000});
            EXPECT_EQ(again.meeting_ns(meeting), costs.meeting_ns(meeting));
        }
    }
}

TEST(CostsFile, AnErrorNamesThePlaceAndTheRemedy) {
    Random random(2);
    const std::string text = costs_file(random_costs(random));
    const std::string remedy = "; write the file with overtake calibrate --partition";
    EXPECT_EQ(error_of(text), "");
    const auto expect = [&](const std::string& from, const std::string& to,
                            const std::string& message) {
        EXPECT_EQ(error_of(with(text, from, to)), "costs.json: " + message + remedy);
    };
    EXPECT_EQ(error_of("[]"), "costs.json: is no file of costs" + remedy);
    EXPECT_EQ(error_of("{}"), "costs.json: is no file of costs" + remedy);
    EXPECT_TRUE(error_of("").starts_with("costs.json: parse error")) << error_of("");
    expect("partition-costs", "expected-times", "is no file of costs");
    expect("\"version\": 1", "\"version\": 2", "version: 2, but this release reads 1");
    expect("\"fc_ns\"", "\"fc_us\"", "fc_us: is no key of such a file");
    expect("\"source\"", "\"fc_ns\"", "has 'fc_ns' twice in one place");
    expect("\"CONV\"", "\"CONF\"", "instructions[0].instruction: is no instruction");
    expect("\"ADD\"", "\"CONV\"", "instructions[1].instruction: is there before");
    expect("\"rows_of_channels\"", "\"rows\"", "features[4]: is not 'rows_of_channels'");
    expect("\"exchange_trees\": true", "\"exchange_trees\": 1",
           "exchange_trees: is neither true nor false");
    expect("\"left\":1", "\"left\":0", "compute[0][0].left: is not a whole number in 1..6");
    expect("\"left\":1", "\"left\":7", "compute[0][0].left: is not a whole number in 1..6");
    expect("\"value\":", "\"worth\":", "compute[0][3].worth: is no key of such a file");
}

TEST(CostsFile, RefusesNumbersThatNoCostHas) {
    LearnedCosts costs;
    costs.others = {{std::vector<double>(formula_features)}};
    costs.meeting = {{{{12.5, 0, 0}}}, false};
    const std::string text = costs_file(costs);
    for (const char* number : {"-1", "1e13", "null", "\"1\"", "[1]"})
        EXPECT_EQ(error_of(with(text, "12.5", number)),
                  "costs.json: exchange_formula[0][0]: is not a number in 0..1000000000000; write "
                  "the file with overtake calibrate --partition");
    EXPECT_TRUE(error_of(with(text, "12.5", "1e999")).starts_with("costs.json: ")) << "range";
    EXPECT_EQ(error_of(with(text, "12.5,", "")),
              "costs.json: exchange_formula[0]: has 2 entries, not 3; write the file with overtake "
              "calibrate --partition");
}

// A tree with one path through so many nodes, each of which has a leaf beside the path.
CostTree tree_of_levels(std::size_t levels) {
    CostTree tree;
    for (std::size_t level = 1; level < levels; ++level) {
        const std::size_t next = tree.nodes.size() + 2;
        tree.nodes.push_back({0, 1.0f, next - 1, next, 0});
        tree.nodes.emplace_back().value = 0.5;
    }
    tree.nodes.emplace_back().value = 0.25;
    return tree;
}

TEST(CostsFile, ATreeHasSixteenLevelsAtMost) {
    LearnedCosts costs;
    costs.others = {{std::vector<double>(formula_features)}};
    costs.meeting = {{{{1, 0, 0}}}, false};
    costs.compute.trees = {tree_of_levels(2), tree_of_levels(16)};
    EXPECT_EQ(error_of(costs_file(costs)), "");
    costs.compute.trees[1] = tree_of_levels(17);
    EXPECT_EQ(error_of(costs_file(costs)),
              "costs.json: compute[1]: has more than 16 levels; write the file with overtake "
              "calibrate --partition");
}

TEST(CostsFile, ALongKeyIsShownInPart) {
    std::string key(1000, 'k');
    const std::string start = "costs.json: " + std::string(58, 'k') + "...: is no key";
    key.replace(58, 3, "\u20ac"); // the 59th to 61st byte are one character
    Random random(2);
    const std::string error =
        error_of(with(costs_file(random_costs(random)), "\"fc_ns\"", "\"" + key + "\""));
    EXPECT_TRUE(error.starts_with(start)) << error;
}

TEST(CostsFile, DamageIsRefusedInOneLineOrChangesNumbersAlone) {
    Random random(3);
    const std::string text = costs_file(random_costs(random));
    constexpr std::string_view alphabet = "0123456789-.eE{}[]\",:truefalsn \n\x01\xff\\u";
    std::size_t refused = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string damaged = text;
        for (std::size_t count = 1 + random() % 4; count > 0 && !damaged.empty(); --count) {
            const std::size_t at = random() % damaged.size();
            switch (random() % 4) {
            case 0:
                damaged[at] = alphabet[random() % alphabet.size()];
                break;
            case 1:
                damaged.erase(at, 1 + random() % 40);
                break;
            case 2:
                damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 40));
                break;
            default:
                if (random() % 8 == 0)
                    damaged.resize(at);
            }
        }
        try {
            const LearnedCosts costs = parse_costs(damaged, "costs.json");
            const double ns = costs.piece_ns(convolution(20, 20));
            EXPECT_TRUE(ns >= 1 && ns <= 1e12) << ns;
            EXPECT_GE(costs.meeting_ns({1, 2, 100}), 1);
        } catch (const CompileError& error) {
            const std::string what = error.what();
            EXPECT_TRUE(what.starts_with("costs.json: ")) << what;
            EXPECT_TRUE(what.ends_with("write the file with overtake calibrate --partition"))
                << what;
            EXPECT_EQ(one_line(what), what);
            ++refused;
        }
    }
    EXPECT_GT(refused, 1500u);
}

TEST(CostsFile, ThatCannotBeReadIsNamed) {
    const std::pair<const char*, const char*> cases[] = {
        {"/nowhere/costs.json", "is no file that can be read"},
        {"/", "is not a regular file"},
    };
    for (const auto& [path, problem] : cases)
        try {
            read_costs(path);
            ADD_FAILURE() << path;
        } catch (const CompileError& error) {
            EXPECT_EQ(error.what(), fmt::format("--costs {}: {}; write the file with "
                                                "overtake calibrate --partition",
                                                path, problem));
        }
}

} // namespace overtake::compiler
