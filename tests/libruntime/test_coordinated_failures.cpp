// SPDX-License-Identifier: MIT
//
// An engine with several processors, some of which fail, become slow and come back.
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "copy_inference.hpp"
#include "embedded/core_faults.hpp"
#include "model_spec.hpp"
#include "network/job_queue.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"
#include "watched_device.hpp"

namespace overtake::test {
namespace {

constexpr std::uint64_t trial_ns = 200'000;

EngineOptions two_cores_and_a_pool() {
    ProcessorOptions npu, cpu;
    npu.name = "npu";
    npu.depth = 2;
    cpu.name = "cpu";
    cpu.workers = 2;
    EngineOptions options;
    options.processors = {npu, cpu};
    options.retry_after_ns = trial_ns;
    return options;
}

EmbeddedOptions modelled_and_computed() {
    EmbeddedOptions options;
    options.mode = OVERTAKE_MODE_BOTH;
    return options;
}

ProcessorState state_of(const Engine& engine, const std::string& name) {
    for (const ProcessorState& state : engine.processors())
        if (state.name == name)
            return state;
    ADD_FAILURE() << "no processor " << name;
    return {};
}

void wait_until(const std::function<bool()>& is_so) {
    while (!is_so())
        std::this_thread::yield();
}

TEST(CoordinatedFailures, WorkOfAFailedCoreIsDoneElsewhere) {
    const FaultyDevice faulty = open_faulty(modelled_and_computed());
    Engine engine(faulty.device, two_cores_and_a_pool());
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    faulty.faults->fail(1);
    CopyInference inference(1);
    TaskOptions on_both;
    on_both.on = "npu";
    const auto request = inference.submit(engine, model, on_both);
    ASSERT_TRUE(request->wait());
    EXPECT_EQ(request->status(), 0) << request->error();
    EXPECT_EQ(inference.copied, inference.in);
    const std::vector<RunRecord> runs = request->runs();
    ASSERT_GE(runs.size(), 3u);
    EXPECT_EQ(runs[0].processor, "npu.1");
    EXPECT_EQ(runs[0].status, -EIO);
    EXPECT_EQ(runs[1].processor, "npu.2");
    EXPECT_EQ(runs[1].status, 0);
    EXPECT_FALSE(state_of(engine, "npu.1").in_use);
    EXPECT_EQ(state_of(engine, "npu.1").failures, 1u);

    faulty.faults->recover(1);
    wait_until([&] { return state_of(engine, "npu.1").in_use; });
    TaskOptions on_first;
    on_first.on = "npu.1";
    const auto again = inference.submit(engine, model, on_first);
    ASSERT_TRUE(again->wait());
    EXPECT_EQ(again->status(), 0);
    EXPECT_EQ(again->runs().front().processor, "npu.1");
}

TEST(CoordinatedFailures, ATaskForAFailedCoreAloneWaitsForIt) {
    const FaultyDevice faulty = open_faulty(modelled_and_computed());
    Engine engine(faulty.device, two_cores_and_a_pool());
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    faulty.faults->fail(2);
    CopyInference inference(1), other(2);
    TaskOptions on_second;
    on_second.on = "npu.2";
    const auto request = inference.submit(engine, model, on_second);
    wait_until([&] { return !state_of(engine, "npu.2").in_use; });
    const auto elsewhere = other.submit(engine, model);
    ASSERT_TRUE(elsewhere->wait()); // a task without a plan delays no other task
    EXPECT_EQ(request->status(), -EINPROGRESS);
    faulty.faults->recover(2);
    ASSERT_TRUE(request->wait());
    EXPECT_EQ(request->status(), 0);
    EXPECT_EQ(inference.copied, inference.in);
}

TEST(CoordinatedFailures, AnEngineThatStopsDoesNotWaitForAFailedCore) {
    const FaultyDevice faulty = open_faulty(modelled_and_computed());
    auto engine = std::make_unique<Engine>(faulty.device, two_cores_and_a_pool());
    const auto model = engine->load(Model::from_bytes(build(copy_and_softmax())));
    faulty.faults->fail(1);
    CopyInference inference(1);
    TaskOptions on_first;
    on_first.on = "npu.1";
    const auto request = inference.submit(*engine, model, on_first);
    wait_until([&] { return !state_of(*engine, "npu.1").in_use; });
    engine.reset();
    EXPECT_EQ(request->status(), -ECANCELED);
}

TEST(JobTable, AnEntryIsUsableAgainAfterTheTableWasCleared) {
    JobTable<const int> table;
    const int owner = 0;
    JobEntry<const int> entry(owner);
    table.add(entry, 1);
    table.clear();
    EXPECT_EQ(table.find(1), nullptr);
    table.add(entry, 2);
    EXPECT_EQ(table.find(2), &owner);
    EXPECT_EQ(table.take(2), &owner);
}

/// A second device ends while it has work: the first one does that work, later jobs included.
TEST(CoordinatedFailures, ADeviceThatEndsLosesNoJob) {
    const auto second = std::make_shared<WatchedDevice>();
    ProcessorOptions npu, other, cpu;
    npu.name = "npu";
    other.name = "other";
    other.device = second;
    cpu.name = "cpu";
    cpu.workers = 1;
    EngineOptions options;
    options.processors = {npu, other, cpu};
    options.retry_after_ns = trial_ns;
    Engine engine(open_embedded({}), options);
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int client = 0; client < 4; client++)
        threads.emplace_back([&] {
            for (int round = 0; round < 100; round++) {
                CopyInference inference(static_cast<float>(1 + round % 3));
                const auto request = inference.submit(engine, model);
                request->wait();
                right += request->status() == 0 && inference.copied == inference.in;
                if (round == 50)
                    second->is_gone = true;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(right, 400);
}

/// A request without another processor does not wait for one that never comes back.
TEST(CoordinatedFailures, ARequestForADeviceThatHasEndedEndsWithENODEV) {
    const auto second = std::make_shared<WatchedDevice>();
    ProcessorOptions npu, other, cpu;
    npu.name = "npu";
    other.name = "other";
    other.device = second;
    cpu.name = "cpu";
    cpu.workers = 1;
    EngineOptions options;
    options.processors = {npu, other, cpu};
    options.retry_after_ns = trial_ns;
    Engine engine(open_embedded({}), options);
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    TaskOptions on_other;
    on_other.on = "other";
    CopyInference works(1), begun(2), waits(3), late(1), elsewhere(2);
    ASSERT_TRUE(works.submit(engine, model, on_other)->wait());
    second->is_gone = true;
    const auto running = begun.submit(engine, model, on_other);
    const auto waiting = waits.submit(engine, model, on_other);
    for (const auto& request : {running, waiting}) {
        ASSERT_TRUE(request->wait());
        EXPECT_EQ(request->status(), -ENODEV);
        EXPECT_NE(request->error().find("all processors that could run it have ended"),
                  std::string::npos)
            << request->error();
    }
    const auto comes = late.submit(engine, model, on_other);
    ASSERT_TRUE(comes->wait());
    EXPECT_EQ(comes->status(), -ENODEV) << "a new one, too";
    const auto free = elsewhere.submit(engine, model);
    ASSERT_TRUE(free->wait());
    EXPECT_EQ(free->status(), 0) << free->error();
    EXPECT_EQ(elsewhere.copied, elsewhere.in);
}

/// A stopped server may still write into memory that it was given: nothing else works on that
/// memory, and all later requests run elsewhere.
TEST(CoordinatedFailures, AStoppedServerHoldsOnlyTheMemoryThatItWasGiven) {
    const auto second = std::make_shared<WatchedDevice>();
    second->called = "server";
    ProcessorOptions npu, other;
    npu.name = "npu";
    npu.workers = 1;
    other.name = "other";
    other.device = second;
    EngineOptions options;
    options.processors = {npu, other};
    options.retry_after_ns = trial_ns;
    options.run_timeout_ns = 100'000'000; // for a slow machine
    Engine engine(open_embedded({}), options);
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    const auto states = [&] {
        unsigned in_use = 0;
        for (const ProcessorState& state : engine.processors())
            in_use += state.name.starts_with("other") && state.in_use;
        return in_use;
    };
    TaskOptions on_other;
    on_other.on = "other";
    CopyInference works(1), held(2), more(3);
    ASSERT_TRUE(works.submit(engine, model, on_other)->wait());
    second->is_stopped = true;
    const auto first = held.submit(engine, model, on_other);
    const auto next = more.submit(engine, model, on_other);
    wait_until([&] { return states() == 0; });
    for (int i = 0; i < 20; i++) {
        CopyInference elsewhere(1);
        const auto request = elsewhere.submit(engine, model);
        ASSERT_TRUE(request->wait());
        EXPECT_EQ(request->status(), 0) << request->error();
        EXPECT_EQ(elsewhere.copied, elsewhere.in);
    }
    EXPECT_EQ(first->status(), -EINPROGRESS);
    EXPECT_EQ(next->status(), -EINPROGRESS);
    second->is_stopped = false;
    for (const auto& request : {first, next}) {
        ASSERT_TRUE(request->wait());
        EXPECT_EQ(request->status(), 0) << request->error();
    }
    EXPECT_EQ(held.copied, held.in);
    EXPECT_EQ(more.copied, more.in);
    wait_until([&] { return states() == 2; });
}

/// No request is lost and every result has its bits, whenever cores fail, slow down and come back.
TEST(CoordinatedFailures, AtRandomMomentsLoseNoRequest) {
    constexpr int changes = 1000;
    constexpr int clients = 3;
    const FaultyDevice faulty = open_faulty(modelled_and_computed());
    Engine engine(faulty.device, two_cores_and_a_pool());
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    std::atomic<bool> is_over = false;
    std::atomic<std::uint64_t> ended = 0;
    std::atomic<std::uint64_t> wrong = 0;
    std::atomic<std::uint64_t> given_up = 0;
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; client++)
        threads.emplace_back([&, client] {
            auto round = static_cast<unsigned>(client);
            while (!is_over) {
                std::array<CopyInference, 3> several{CopyInference(1), CopyInference(2),
                                                     CopyInference(3)};
                std::vector<std::shared_ptr<Request>> requests;
                TaskOptions options;
                options.priority = round % 200;
                options.on = std::array{"npu", "npu.2", ""}[static_cast<std::size_t>(client)];
                for (CopyInference& inference : several)
                    requests.push_back(inference.submit(engine, model, options));
                for (std::size_t i = 0; i < requests.size(); i++) {
                    requests[i]->wait();
                    const std::int32_t status = requests[i]->status();
                    std::size_t failed = 0;
                    for (const RunRecord& run : requests[i]->runs())
                        failed += run.status == -EIO;
                    if (status == -EIO && failed > 3)
                        given_up++;
                    else if (status != 0 || several[i].copied != several[i].in)
                        wrong++;
                    ended++;
                }
                round++;
            }
        });
    std::mt19937 random(7);
    bool works[2] = {true, true};
    for (int change = 0; change < changes; change++) {
        const std::uint64_t before = ended;
        const unsigned core = random() % 2;
        if (random() % 3 == 0)
            faulty.faults->throttle(core + 1, random() % 2 == 0 ? 300 : 100);
        else if (std::exchange(works[core], !works[core]))
            faulty.faults->fail(core + 1);
        else
            faulty.faults->recover(core + 1);
        wait_until([&, more = random() % 8] { return ended >= before + more; });
        if (!works[core]) // usually noticed: tasks come to it
            wait_until([&] { return ended >= before + 40 || !engine.processors()[core].in_use; });
    }
    is_over = true;
    faulty.faults->recover(1);
    faulty.faults->recover(2);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_LT(given_up, ended);
    EXPECT_GT(state_of(engine, "npu.1").failures + state_of(engine, "npu.2").failures, 50u);
    std::uint64_t unfinished = 0;
    for (const ProcessorState& state : engine.processors())
        unfinished += state.unfinished;
    EXPECT_EQ(unfinished, 0u);
}

} // namespace
} // namespace overtake::test
