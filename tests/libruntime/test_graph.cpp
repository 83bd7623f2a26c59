// SPDX-License-Identifier: MIT
//
// The life cycle of a graph: the calls that each state allows, and what is left when a call fails.
//
// Tests whose comment has "defect N" fail on code with that defect, one of eleven which were found
// in another framework's scheduler: OAID/Tengine at c73708ce (Apache-2.0),
// source/scheduler/scheduler.c and source/api/c_api.c.
#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "graph_in_c.h"
#include "graph_support.hpp"
#include "model_spec.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"
#include "overtake/graph.hpp"

namespace overtake::test {
namespace {

/// A chain of three units, one on each of the processors A, B and C.
class Graphs : public testing::Test {
protected:
    Graphs() {
        EngineOptions options;
        for (const auto& [name, own] : processors) {
            options.processors.emplace_back();
            options.processors.back().name = name;
            options.processors.back().own = own;
        }
        options.retry_after_ns = 200'000;
        engine = std::make_unique<Engine>(open_embedded({}), options);
        graph = std::make_unique<GraphRun>(*engine, model);
    }
    ~Graphs() override {
        board.be_automatic(); // ends calls that a failed test has left
        graph.reset();
        engine.reset();
    }

    int prepared() const {
        int count = 0;
        for (const auto& [name, own] : processors)
            count += own->prepared - own->released;
        return count;
    }
    void begin(int round) {
        std::ranges::copy(graph_values(round), graph->input(0).begin());
        graph->run(false);
    }
    void expect_values(int round) {
        const auto output = graph->output(0);
        EXPECT_EQ(std::vector<float>(output.begin(), output.end()), graph_values(round));
    }
    /// Expects one unit after the other, from the first.
    void expect_run(int round) {
        begin(round);
        for (std::size_t unit = 0; unit < 3; unit++) {
            ASSERT_EQ(board.await(1), std::vector{unit});
            board.finish();
        }
        ASSERT_TRUE(graph->wait());
        EXPECT_EQ(graph->state(), GraphState::done);
        EXPECT_EQ(board.take_started(), (std::vector<std::size_t>{0, 1, 2}));
        expect_values(round);
    }

    Board board;
    std::map<std::string, std::shared_ptr<BoardProcessor>> processors = {
        {"A", std::make_shared<BoardProcessor>(board, 0b001)},
        {"B", std::make_shared<BoardProcessor>(board, 0b010)},
        {"C", std::make_shared<BoardProcessor>(board, 0b100)}};
    const std::shared_ptr<const Model> model =
        loaded(*graph_of({{{0}, {1}}, {{1}, {2}}, {{2}, {3}}}));
    std::unique_ptr<Engine> engine;
    std::unique_ptr<GraphRun> graph;
};

/// Defect 13, and the text of each error.
TEST_F(Graphs, RefuseCallsThatTheirStateDoesNotAllow) {
    const auto refuses = [&](int code, const std::string& text, auto call) {
        expect_error(code, ("graph 'test': " + text).c_str(), call);
    };
    const auto prerun = [&] { graph->prerun(); };
    const auto input = [&] { graph->input(0); };
    const auto output = [&] { graph->output(0); };
    const auto run = [&] { graph->run(false); };
    const auto wait = [&] { graph->wait(0); };
    const auto postrun = [&] { graph->postrun(); };

    EXPECT_EQ(graph->state(), GraphState::created);
    refuses(EINVAL, "input(): the graph is created; call prerun() first", input);
    refuses(EINVAL, "output(): the graph is created; call prerun() first", output);
    refuses(EINVAL, "run(): the graph is created; call prerun() first", run);
    refuses(EINVAL, "wait(): the graph is created; call prerun() first", wait);
    refuses(EINVAL, "postrun(): the graph is created; call prerun() first", postrun);
    graph->cancel();

    prerun();
    EXPECT_EQ(graph->state(), GraphState::ready);
    EXPECT_EQ(prepared(), 3);
    refuses(EINVAL, "prerun(): the graph is ready; call postrun() first", prerun);
    refuses(EINVAL, "wait(): the graph is ready; call run() first", wait);
    refuses(EINVAL, "input(): no number 1, it has 1", [&] { graph->input(1); });
    EXPECT_EQ(prepared(), 3);

    begin(0);
    EXPECT_EQ(graph->state(), GraphState::running);
    const std::string remedy = "the graph is running; wait() for the end of the run first";
    refuses(EBUSY, "prerun(): " + remedy, prerun);
    refuses(EBUSY, "input(): " + remedy, input);
    refuses(EBUSY, "output(): " + remedy, output);
    refuses(EBUSY, "run(): " + remedy, run);
    refuses(EBUSY, "postrun(): " + remedy, postrun);
    EXPECT_TRUE(graph->runs().empty());
    board.be_automatic();
    ASSERT_TRUE(graph->wait());
    EXPECT_EQ(graph->state(), GraphState::done);
    EXPECT_EQ(graph->runs().size(), 3u);
    refuses(EINVAL, "prerun(): the graph is done; call postrun() first", prerun);
    EXPECT_TRUE(graph->wait());
    graph->run();
    expect_values(0);

    postrun();
    EXPECT_EQ(graph->state(), GraphState::created);
    EXPECT_EQ(prepared(), 0);
    refuses(EINVAL, "postrun(): the graph is created", postrun);
    refuses(EINVAL, "run(): the graph is created", run);
    EXPECT_EQ(prepared(), 0);
    prerun();
    graph->run();
    EXPECT_EQ(graph->state(), GraphState::done);
    EXPECT_EQ(graph->error(), "");
}

/// Defect 1: case "prerun of the third fails".
TEST_F(Graphs, ThatCannotBePreparedLeaveNothingPrepared) {
    for (const bool throws : {false, true}) {
        processors["C"]->units = 0;
        processors["C"]->throws = throws;
        const std::string why = throws
                                    ? "C: prepare() threw: no room"
                                    : "A, B, C: prepare() returned -95 (Operation not supported)";
        expect_error(EINVAL, "graph 'test': prerun(): no processor takes unit 2; ",
                     [&] { graph->prerun(); });
        expect_error(EINVAL, (why + "; nothing is prepared").c_str(), [&] { graph->prerun(); });
        EXPECT_EQ(graph->state(), GraphState::created);
        EXPECT_EQ(processors["A"]->released, processors["A"]->prepared);
        EXPECT_EQ(processors["B"]->released, processors["B"]->prepared);
        EXPECT_EQ(prepared(), 0);
        const auto refusals = graph->refusals();
        EXPECT_EQ(refusals.size(), 7u); // units 0 and 1 by two processors each, 2 by all
        processors["C"]->units = 0b100;
        graph->prerun();
        EXPECT_EQ(prepared(), 3);
        EXPECT_EQ(graph->refusals().size(), 6u);
        expect_run(1);
        graph->postrun();
        EXPECT_EQ(prepared(), 0);
    }
}

TEST_F(Graphs, TryOtherClasses) {
    processors["C"]->units = 0;
    processors["A"]->units = 0b101;
    graph->prerun();
    const auto refusals = graph->refusals();
    const auto of_c = std::ranges::find_if(refusals, [](const UnitRefusal& refusal) {
        return refusal.unit == 2 && refusal.processor == "C";
    });
    ASSERT_NE(of_c, refusals.end());
    EXPECT_EQ(of_c->reason, "prepare() returned -95 (Operation not supported)");
    expect_run(1);
    EXPECT_EQ(graph->runs().back().processor, "A");
}

/// Defect 2: case "run of the second fails".
TEST_F(Graphs, BeginFromNothingAfterARunThatFailed) {
    graph->prerun();
    expect_run(1);
    begin(2);
    EXPECT_EQ(board.await(1), std::vector<std::size_t>{0});
    board.finish();
    EXPECT_EQ(board.await(1), std::vector<std::size_t>{1});
    board.finish(1, -EDOM);
    const char* text = "graph 'test': run(): unit 1 failed on B: Numerical argument out of domain";
    expect_error(EDOM, text, [&] { graph->wait(); });
    expect_error(EDOM, text, [&] { graph->wait(); });
    EXPECT_EQ(graph->state(), GraphState::error);
    EXPECT_EQ(graph->error(), "unit 1 failed on B: Numerical argument out of domain");
    EXPECT_EQ(board.take_started(), (std::vector<std::size_t>{0, 1}));
    expect_run(3);
    EXPECT_EQ(graph->error(), "");
}

TEST_F(Graphs, AreReleasedAfterARunThatFailed) {
    graph->prerun();
    begin(1);
    board.await(1);
    board.finish(0, -EDOM);
    expect_error(EDOM, "unit 0 failed on A", [&] { graph->wait(); });
    graph->postrun();
    EXPECT_EQ(graph->state(), GraphState::created);
    EXPECT_EQ(prepared(), 0);
    graph->prerun();
    board.take_started();
    expect_run(2);
}

/// Defects 4 and 5.
TEST_F(Graphs, WaitUntilTheDeadlineOrTheEnd) {
    graph->prerun();
    begin(1);
    std::thread finisher([&] {
        for (int unit = 0; unit < 3; unit++) {
            board.await(1);
            board.finish();
        }
    });
    bool has_ended = false;
    EXPECT_NO_THROW(has_ended = graph->wait());
    finisher.join();
    ASSERT_TRUE(has_ended);
    expect_values(1);

    begin(1);
    for (std::size_t unit = 0; unit < 3; unit++) {
        EXPECT_EQ(board.await(1), std::vector{unit});
        EXPECT_FALSE(graph->wait(0)); // it cannot have ended
        EXPECT_EQ(graph->state(), GraphState::running);
        board.finish();
    }
    EXPECT_TRUE(graph->wait(deadline_never));
    EXPECT_EQ(graph->state(), GraphState::done);
    EXPECT_TRUE(graph->wait(0));
    expect_values(1);
}

/// Defect 9: a graph is not released before its end, and no message names another call.
TEST_F(Graphs, AreOnlyCreatedAgainOnceAllUnitsAreReleased) {
    struct Seen {
        std::vector<GraphState> states;
        std::vector<std::string> refusals;
    };
    const auto seen = std::make_shared<Seen>(); // outlives the graph, if this test fails
    auto& [states, refusals] = *seen;
    for (const auto& [name, own] : processors)
        own->on_release = [seen, graph = graph.get()] {
            seen->states.push_back(graph->state());
            try {
                graph->prerun();
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), EBUSY);
                seen->refusals.push_back(error.what());
            }
        };
    graph->prerun();
    graph->postrun();
    EXPECT_EQ(states, std::vector(3, GraphState::ready));
    graph->prerun();
    expect_run(1);
    states.clear();
    graph->postrun();
    EXPECT_EQ(states, std::vector(3, GraphState::done));
    ASSERT_EQ(refusals.size(), 6u);
    EXPECT_EQ(refusals[0], "graph 'test': prerun(): another call is in prerun() or postrun(); call "
                           "again when that has returned");
    for (const auto& [name, own] : processors)
        own->on_release = [] {};
    EXPECT_EQ(graph->state(), GraphState::created);
    expect_error(EINVAL, "graph 'test': postrun(): ", [&] { graph->postrun(); });
}

/// Defect 10: no unit can go on, and nothing of that run is left.
TEST_F(Graphs, ThatCannotGoOnMayBeCancelled) {
    graph->prerun();
    processors["B"]->works = false;
    begin(1);
    board.await(1);
    board.finish();
    EXPECT_EQ(board.await(1), std::vector<std::size_t>{1});
    board.finish(1, -EIO);
    while (engine->processors()[1].in_use)
        std::this_thread::yield();
    EXPECT_FALSE(graph->wait(0)); // it waits for B, which gets trials
    graph->cancel();
    expect_error(ECANCELED, "graph 'test': run(): it was cancelled: Operation canceled",
                 [&] { graph->wait(); });
    EXPECT_EQ(graph->state(), GraphState::error);
    processors["B"]->works = true;
    board.take_started();
    expect_run(2);
    graph->postrun();
    EXPECT_EQ(prepared(), 0);
}

/// Defect 3.
TEST_F(Graphs, RunBesideEachOther) {
    GraphRun other(*engine, model);
    graph->prerun();
    other.prerun();
    begin(1);
    EXPECT_EQ(board.await(1), std::vector<std::size_t>{0});
    board.finish();
    EXPECT_EQ(board.await(1), std::vector<std::size_t>{1});
    std::ranges::copy(graph_values(2), other.input(0).begin());
    other.run(false);
    EXPECT_EQ(board.await(2), (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(graph->state(), GraphState::running);
    EXPECT_EQ(other.state(), GraphState::running);
    board.be_automatic();
    EXPECT_TRUE(graph->wait());
    EXPECT_TRUE(other.wait());
    expect_values(1);
    EXPECT_TRUE(std::ranges::equal(other.output(0), graph_values(2)));
}

TEST_F(Graphs, WorkOnMemoryOfTheCaller) {
    std::vector<float> in = graph_values(1), out(graph_elements);
    TensorMemory from, to;
    from.data = reinterpret_cast<std::byte*>(in.data());
    to.data = reinterpret_cast<std::byte*>(out.data());
    expect_error(EINVAL, "0 outputs given", [&] { graph->prerun({&from, 1}, {}); });
    EXPECT_EQ(prepared(), 0);
    graph->prerun({&from, 1}, {&to, 1});
    board.be_automatic();
    for (const int round : {1, 2}) {
        std::ranges::copy(graph_values(round), in.begin());
        graph->run();
        EXPECT_EQ(out, in);
    }
    expect_error(EINVAL, "output(): its memory is what prerun() was given",
                 [&] { graph->output(0); });
}

TEST_F(Graphs, MayGoWhileTheyRun) {
    graph->prerun();
    begin(1);
    board.await(1);
    graph.reset();
    board.finish();
    engine.reset();
    EXPECT_EQ(prepared(), 0);
}

TEST_F(Graphs, RefuseImpossibleArguments) {
    Engine usual(open_embedded({}));
    expect_error(EINVAL, "its engine has one queue", [&] { GraphRun(usual, model); });
    TaskOptions options;
    options.deadline_ns = 1;
    expect_error(EINVAL, "give slo_ns", [&] { GraphRun(*engine, model, options); });
    options = {};
    options.priority = priority_high;
    expect_error(EPERM, "priority 255", [&] { GraphRun(*engine, model, options).prerun(); });
    options = {};
    options.on = "A";
    GraphRun on_a(*engine, model, options);
    // Own processors count as workers, so units that A does not take fall back to B and C.
    on_a.prerun();
    options.on = "D";
    expect_error(EINVAL, "there is no processor 'D'",
                 [&] { GraphRun(*engine, model, options).prerun(); });
}

TEST_F(Graphs, TakeCallsOfSeveralThreads) {
    board.be_automatic();
    graph->prerun();
    std::atomic<int> ran = 0, busy = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int round = 0; round < 200; round++) {
                try {
                    graph->run();
                    ran++;
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), EBUSY) << error.what();
                    busy++;
                }
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(ran + busy, 4 * 200);
    EXPECT_GT(ran, 0);
    EXPECT_TRUE(graph->wait());
    graph->postrun();
    EXPECT_EQ(prepared(), 0);
}

TEST(GraphStates, HaveNames) {
    EXPECT_STREQ(name_of(GraphState::created), "created");
    EXPECT_STREQ(name_of(GraphState::error), "error");
    EXPECT_STREQ(name_of(static_cast<GraphState>(9)), "?");
}

/// Tests the same life cycle from C: the program is in graph_in_c.c.
TEST(GraphsInC, HaveTheSameLifeCycle) {
    const auto model = loaded(*graph_of({{{0}, {1}}, {{1}, {2}}, {{2}, {3}}}));
    const std::string path = testing::TempDir() + "graph_in_c.ovm";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(model->file().data()),
               static_cast<std::streamsize>(model->file().size()));
    const std::vector<float> in = graph_values(1);
    std::vector<float> out(in.size());
    struct graph_in_c_case test = {path.c_str(), in.data(), out.data(), in.size(), ""};
    EXPECT_EQ(graph_in_c(&test), 0) << "graph_in_c.c, this line: " << test.error;
    EXPECT_EQ(out, in);
}

} // namespace
} // namespace overtake::test
