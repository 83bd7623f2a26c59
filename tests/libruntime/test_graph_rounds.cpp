// SPDX-License-Identifier: MIT
//
// The units of a graph that run in each round.  The cases were found in another framework's
// scheduler (OAID/Tengine at c73708ce, Apache-2.0: source/scheduler/scheduler.c,
// source/graph/subgraph.h) and are models of Overtake here.  "Defect N" is as in test_graph.cpp.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "graph_support.hpp"
#include "model_spec.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"
#include "overtake/graph.hpp"

namespace overtake::test {
namespace {

using Rounds = std::vector<std::vector<std::size_t>>;

struct RoundCase {
    const char* name;
    std::vector<Subgraph> subgraphs;    ///< each reads only outputs of earlier ones
    std::vector<std::uint64_t> devices; ///< units of each
    Rounds rounds;
};

const std::vector<RoundCase> round_cases = {
    {"two branches on two devices",
     {{{0}, {1}}, {{1}, {2}}, {{1}, {3}}, {{2, 3}, {4}}},
     {0b1001, 0b0010, 0b0100},
     {{0}, {1, 2}, {3}}},
    {"listed against their dependency, so numbered again",
     {{{0}, {2}}, {{2}, {3}}},
     {0b11},
     {{0}, {1}}},
    {"one tensor to two inputs", {{{0}, {1}}, {{1, 1}, {2}}}, {0b01, 0b10}, {{0}, {1}}},
};

/// Defects 2 and 6: a round starts all units that are ready and no others, in later runs as well.
TEST(GraphRounds, AreThoseOfTheDependencies) {
    for (const RoundCase& each : round_cases) {
        SCOPED_TRACE(each.name);
        Board board;
        EngineOptions options;
        for (const std::uint64_t units : each.devices) {
            options.processors.emplace_back();
            options.processors.back().name = std::string(1, "ABC"[options.processors.size() - 1]);
            options.processors.back().own = std::make_shared<BoardProcessor>(board, units);
        }
        Engine engine(open_embedded({}), options);
        GraphRun graph(engine, loaded(*graph_of(each.subgraphs)));
        graph.prerun();
        for (const int inference : {1, 2, 3}) {
            std::ranges::copy(graph_values(inference), graph.input(0).begin());
            graph.run(false);
            std::vector<std::size_t> in_order;
            for (const auto& round : each.rounds) {
                ASSERT_EQ(board.await(round.size()), round);
                board.finish();
                in_order.insert(in_order.end(), round.begin(), round.end());
            }
            ASSERT_TRUE(graph.wait());
            std::vector<std::size_t> started = board.take_started();
            EXPECT_EQ(started.size(), in_order.size());
            std::ranges::sort(started);
            std::ranges::sort(in_order);
            EXPECT_EQ(started, in_order);
            EXPECT_TRUE(std::ranges::equal(graph.output(0), graph_values(inference)));
        }
    }
}

/// Defect 2 after a failure in a branch: the join of the next run waits for both branches.
TEST(GraphRounds, BeginAnewAfterAFailureInABranch) {
    Board board;
    EngineOptions options;
    for (const std::uint64_t units : {0b1001u, 0b0010u, 0b0100u}) {
        options.processors.emplace_back();
        options.processors.back().name = std::string(1, "ABC"[options.processors.size() - 1]);
        options.processors.back().own = std::make_shared<BoardProcessor>(board, units);
    }
    Engine engine(open_embedded({}), options);
    GraphRun graph(engine, loaded(*graph_of(round_cases[0].subgraphs)));
    graph.prerun();
    for (const std::size_t failing : {0, 1, 2, 3}) {
        std::ranges::copy(graph_values(1), graph.input(0).begin());
        graph.run(false);
        for (std::size_t r = 0; graph.state() == GraphState::running && r < 3; r++) {
            const auto& round = round_cases[0].rounds[r];
            ASSERT_EQ(board.await(round.size()), round);
            board.finish(failing, -EDOM);
            if (std::ranges::find(round, failing) != round.end())
                break;
        }
        expect_error(EDOM, "failed on", [&] { graph.wait(); });
        board.take_started();

        std::ranges::copy(graph_values(2), graph.input(0).begin());
        graph.run(false);
        for (const auto& round : round_cases[0].rounds) {
            ASSERT_EQ(board.await(round.size()), round) << failing;
            board.finish();
        }
        ASSERT_TRUE(graph.wait());
        EXPECT_TRUE(std::ranges::equal(graph.output(0), graph_values(2)));
    }
}

/// A file lists each unit after those whose output it reads, so it cannot hold a cycle.
TEST(GraphRounds, OfACircleAreRefusedAtLoad) {
    const auto refused = [](const std::vector<Subgraph>& subgraphs, std::uint64_t after,
                            const char* text) {
        const auto model = graph_of(subgraphs);
        if (after == 0)
            model->units[0]->after = 0;
        expect_error(EINVAL, text, [&] { loaded(*model); });
    };
    const std::vector<Subgraph> circle = {{{2}, {1}}, {{1}, {2}}, {{0}, {3}}};
    refused(circle, 1, "units[0].after: 0x2 has units that are not before it");
    refused(circle, 0, "is read before anything wrote it");
    const std::vector<Subgraph> against = {{{2}, {3}}, {{0}, {2}}};
    refused(against, 1, "units[0].after: 0x2 has units that are not before it");
    refused(against, 0, "is read before anything wrote it");

    EngineOptions options;
    options.processors.resize(1);
    options.processors[0].name = "cpu";
    options.processors[0].workers = 1;
    Engine engine(open_embedded({}), options);
    GraphRun graph(engine, loaded(*graph_of({{{0}, {2}}, {{2}, {3}}})));
    graph.prerun();
    std::ranges::copy(graph_values(1), graph.input(0).begin());
    graph.run();
    EXPECT_TRUE(std::ranges::equal(graph.output(0), graph_values(1)));
}

/// Returns a chain of copies, counts[u] of them in unit u.  Tensors between them have numbers from
/// `first` on.
std::unique_ptr<fbs::ModelT> long_chain(std::uint32_t first,
                                        const std::vector<std::size_t>& counts) {
    std::vector<Subgraph> units;
    for (std::uint32_t u = 0; u < counts.size(); u++)
        units.push_back({{u}, {u + 1}});
    auto model = graph_of(units);
    const auto segment = *model->units[0]->work[0]->segments[0];
    const auto usual = *model->tensors[1];
    model->unit_tensors.clear();
    while (model->tensors.size() + model->unit_tensors.size() < first) {
        model->unit_tensors.push_back(std::make_unique<fbs::TensorT>());
        model->unit_tensors.back()->shape = {1};
        model->unit_tensors.back()->bytes = sizeof(float);
        model->unit_tensors.back()->data_type = usual.data_type;
    }
    std::uint32_t from = 0;
    for (std::size_t u = 0; u < counts.size(); u++) {
        auto& segments = model->units[u]->work[0]->segments;
        segments.clear();
        for (std::size_t s = 0; s < counts[u]; s++) {
            const bool is_last = u + 1 == counts.size() && s + 1 == counts[u];
            const auto to = is_last ? 1u
                                    : static_cast<std::uint32_t>(model->tensors.size() +
                                                                 model->unit_tensors.size());
            if (!is_last)
                model->unit_tensors.push_back(std::make_unique<fbs::TensorT>(usual));
            segments.push_back(std::make_unique<fbs::SegmentT>(segment));
            segments.back()->bpu->bindings = {fbs::Binding(OVERTAKE_REGION_IO, from, false),
                                              fbs::Binding(OVERTAKE_REGION_IO + 1, to, true)};
            from = to;
        }
    }
    return model;
}

/// Defects 7 and 8: 300 subgraphs, and tensor numbers that exceed a signed 16-bit integer.
TEST(GraphRounds, OfALongChainHaveLargeNumbers) {
    std::vector<std::size_t> counts(64, 4); // a file has 64 units; these have 300 segments
    for (std::size_t u = 0; u < 44; u++)
        counts[u] = 5;
    Board board;
    board.be_automatic();
    EngineOptions options;
    for (const std::uint64_t units : {0x5555555555555555u, 0xaaaaaaaaaaaaaaaau}) {
        options.processors.emplace_back(); // each has copies of the tensors between units
        options.processors.back().name = std::string(1, "AB"[options.processors.size() - 1]);
        options.processors.back().own = std::make_shared<BoardProcessor>(board, units);
    }
    Engine engine(open_embedded({}), options);
    GraphRun graph(engine, loaded(*long_chain(40'000, counts)));
    graph.prerun();
    for (const int inference : {1, 2}) {
        std::ranges::copy(graph_values(inference), graph.input(0).begin());
        graph.run();
        EXPECT_TRUE(std::ranges::equal(graph.output(0), graph_values(inference)));
        EXPECT_EQ(graph.runs().size(), 64u);
    }
    expect_error(EINVAL, "units: 300, but 1..64 are possible",
                 [] { loaded(*long_chain(10, std::vector<std::size_t>(300, 1))); });
}

} // namespace
} // namespace overtake::test
