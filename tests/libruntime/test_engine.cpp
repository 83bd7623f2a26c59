// SPDX-License-Identifier: MIT
//
// The engine: its estimates, its threads, and that every task ends once.
#include <atomic>
#include <cerrno>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "engine/threaded_engine.hpp"
#include "made_segments.hpp"
#include "programs.hpp"

namespace overtake::test {
namespace {

using engine::Estimate;
using engine::RunOptions;
using engine::SchedulerOptions;
using engine::ThreadedEngine;

TEST(Estimate, IsTheCompilersUntilTheFirstRecordReplacesIt) {
    Estimate estimate(1000);
    EXPECT_EQ(estimate.ns(), 1000u);
    estimate.record(5000);
    EXPECT_EQ(estimate.ns(), 5000u);
}

TEST(Estimate, LaterRecordsHaveTheWeightOfATenth) {
    Estimate estimate(0);
    estimate.record(1000);
    estimate.record(2000);
    EXPECT_EQ(estimate.ns(), 1100u);
    estimate.record(2100);
    EXPECT_EQ(estimate.ns(), 1200u);
    estimate.record(0);
    EXPECT_EQ(estimate.ns(), 1080u);
}

TEST(Estimate, KeepsAConstantExactly) {
    Estimate estimate(7);
    for (int i = 0; i < 1000; i++) {
        estimate.record(123'456'789);
        ASSERT_EQ(estimate.ns(), 123'456'789u);
    }
}

TEST(Estimate, IsAtMostTheLargestTimeOfASchedule) {
    EXPECT_EQ(Estimate(~0ull).ns(), std::uint64_t{INT64_MAX});
    EXPECT_EQ(Estimate(1ull << 63).ns(), std::uint64_t{INT64_MAX});
    EXPECT_EQ(Estimate(1ull << 62).ns(), 1ull << 62);
}

class EngineTest : public testing::Test {
protected:
    MadeSegment bpu(std::size_t fcs = 1) {
        return made_job(std::vector<overtake_fc>(fcs, {0, 1}), program.bindings);
    }
    static MadeSegment cpu(std::function<std::int32_t()> compute = [] { return 0; }) {
        return made_computation(std::move(compute));
    }
    static std::shared_ptr<engine::Run> run_of(const std::vector<MadeSegment>& segments,
                                               const RunOptions& options = {}) {
        return made_run(segments, options);
    }

    const std::shared_ptr<Device> device = open_embedded({});
    const Program program{*device, {delay_insn(10)}};
};

TEST_F(EngineTest, RunsAChainInOrder) {
    ThreadedEngine engine(device, {});
    std::vector<int> order;
    const auto note = [&order](int number) {
        return cpu([&order, number] {
            order.push_back(number);
            return 0;
        });
    };
    const auto run = run_of({note(1), bpu(3), note(2), note(3), bpu(), note(4)});
    EXPECT_EQ(run->status(), -EINPROGRESS);
    engine.submit(run);
    ASSERT_TRUE(run->wait(patience()));
    EXPECT_EQ(run->status(), 0);
    EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
    EXPECT_EQ(run->records()[1].job.fcs_done, 3u);
    EXPECT_EQ(run->records()[4].job.core, run->core()); // the task stays on its core
    EXPECT_LE(run->records()[1].end_ns, run->records()[4].start_ns);
    EXPECT_LE(run->dispatched_ns(), run->records()[0].start_ns);
    EXPECT_LE(run->records()[5].end_ns, run->ended_ns());
}

TEST_F(EngineTest, MeasuresWhatItRuns) {
    ThreadedEngine engine(device, {});
    const MadeSegment job = bpu(2), computation = cpu([] {
                                        std::this_thread::sleep_for(std::chrono::milliseconds(2));
                                        return 0;
                                    });
    const auto run = run_of({job, computation});
    engine.submit(run);
    ASSERT_TRUE(run->wait(patience()));
    EXPECT_EQ(job.estimate().ns(), run->records()[0].job.executed_ns);
    EXPECT_GE(computation.estimate().ns(), 2'000'000u);
}

/// An engine whose server ends while an FC runs that takes seconds.
class EngineOfAServer : public testing::Test {
protected:
    static EmbeddedOptions timed() {
        EmbeddedOptions options;
        options.mode = OVERTAKE_MODE_TIMED;
        return options;
    }
    MadeSegment endless() const { return made_job({{0, 1}}, program.bindings); }
    /// Submits a run of these segments, or of an endless one.
    std::shared_ptr<engine::Run> submit(std::vector<MadeSegment> segments = {}) {
        if (segments.empty())
            segments.push_back(endless());
        auto run = made_run(segments);
        engine.submit(run);
        return run;
    }

    std::unique_ptr<TestServer> server = std::make_unique<TestServer>(timed());
    const std::shared_ptr<Device> device = open_server(server->path());
    const Program program{*device, {delay_insn(3'600'000'000u)}};
    ThreadedEngine engine{device, {}};
};

TEST_F(EngineOfAServer, TasksBeforeAndAfterTheEndOfTheServerEnd) {
    const auto submit_some = [&] {
        std::vector<std::shared_ptr<engine::Run>> runs;
        for (int i = 0; i < 20; i++)
            runs.push_back(submit());
        return runs;
    };
    const auto expect_to_end = [](const auto& runs) {
        for (const auto& run : runs) {
            ASSERT_TRUE(run->wait(patience()));
            // The server cancels jobs that run as it stops.
            EXPECT_TRUE(run->status() == -ENODEV || run->status() == -ECANCELED) << run->status();
        }
        EXPECT_EQ(runs.back()->status(), -ENODEV);
    };
    auto runs = submit_some();
    server.reset();
    expect_to_end(runs);
    runs.clear(); // no task has an owner any more
    for (int i = 0; i < 3; i++)
        expect_to_end(submit_some());
}

/// A segment that is being computed has the caller's memory, so its task ends after it.
TEST_F(EngineOfAServer, ATaskWhoseSegmentIsComputedEndsAfterTheSegment) {
    std::promise<void> begun, may_end;
    const auto end = may_end.get_future().share();
    const MadeSegment cpu = made_computation([&begun, end] {
        begun.set_value();
        end.wait();
        return 0;
    });
    const auto computed = submit({cpu, endless()});
    const auto on_device = submit();
    begun.get_future().wait();
    server.reset();
    ASSERT_TRUE(on_device->wait(patience()));
    const auto later = submit();
    ASSERT_TRUE(later->wait(patience()));
    EXPECT_EQ(later->status(), -ENODEV);
    engine.cancel(computed); // this does not end it either
    ASSERT_TRUE(submit()->wait(patience()));
    EXPECT_EQ(computed->status(), -EINPROGRESS);
    may_end.set_value();
    ASSERT_TRUE(computed->wait(patience()));
    // The engine may not have noticed the end, as long as none of its jobs was on the device.
    EXPECT_TRUE(computed->status() == -ENODEV || computed->status() == -ECANCELED);
}

TEST_F(EngineTest, AFailureEndsTheTaskAndIsItsStatus) {
    ThreadedEngine engine(device, {});
    bool went_on = false;
    const MadeSegment fails = cpu([] { return -EDOM; });
    const auto failing = run_of({fails, cpu([&] {
                                     went_on = true;
                                     return 0;
                                 })});
    const auto throwing =
        run_of({bpu(), cpu([]() -> std::int32_t { throw Error(ENOTSUP, "no"); })});
    const auto without_memory = run_of({cpu([]() -> std::int32_t { throw std::bad_alloc(); })});
    std::vector<overtake_binding> bindings = program.bindings;
    bindings[0].address = 0x10;
    const MadeSegment nowhere = made_job({{0, 1}}, bindings);
    const auto refused = run_of({bpu(), nowhere, bpu()});
    for (const auto& run : {failing, throwing, without_memory, refused}) {
        engine.submit(run);
        ASSERT_TRUE(run->wait(patience()));
    }
    EXPECT_EQ(failing->status(), -EDOM);
    EXPECT_FALSE(went_on);
    EXPECT_EQ(throwing->status(), -ENOTSUP);
    EXPECT_EQ(without_memory->status(), -ENOMEM);
    EXPECT_EQ(refused->status(), -ENOENT);
    EXPECT_EQ(refused->records()[0].job.status, 0);
    EXPECT_EQ(fails.estimate().ns(), 1000u) << "a failure is no measurement";
}

TEST_F(EngineTest, ImpossibleRunsAndOptionsAreRefused) {
    EXPECT_THROW(run_of({}), Error);
    EXPECT_THROW(run_of({bpu()}, {.priority = 256}), Error);
    for (const auto field : {&ovt_sched_settings::slots, &ovt_sched_settings::task_limit,
                             &ovt_sched_settings::workers}) {
        SchedulerOptions none;
        none.settings.*field = 0;
        EXPECT_THROW(ThreadedEngine(device, none), Error);
    }
    SchedulerOptions unknown;
    unknown.policy = "best";
    EXPECT_THROW(ThreadedEngine(device, unknown), Error);
    ThreadedEngine engine(device, {});
    const auto without_right = run_of({bpu()}, {.priority = 255});
    const auto without_core = run_of({bpu()}, {.core = 3});
    engine.submit(without_right);
    engine.submit(without_core);
    ASSERT_TRUE(without_right->wait(patience()) && without_core->wait(patience()));
    EXPECT_EQ(without_right->status(), -EPERM);
    EXPECT_EQ(without_core->status(), -EINVAL);
}

TEST_F(EngineTest, ACancelledTaskDoesNotGoOn) {
    ThreadedEngine engine(device, {});
    std::promise<void> begun, may_end;
    std::shared_future<void> end = may_end.get_future();
    std::atomic<int> later = 0;
    const auto running = run_of({cpu([&] {
                                     begun.set_value();
                                     end.wait();
                                     return 0;
                                 }),
                                 cpu([&] { return ++later, 0; })});
    engine.submit(running);
    begun.get_future().wait();
    engine.cancel(running);
    engine.cancel(running);
    EXPECT_FALSE(running->wait(in_ms(5)));
    may_end.set_value();
    ASSERT_TRUE(running->wait(patience()));
    EXPECT_EQ(running->status(), -ECANCELED);
    EXPECT_EQ(later, 0);
    engine.cancel(running); // it has ended already
}

TEST_F(EngineTest, CallsBackOnceAlsoWhenAskedAfterTheEnd) {
    ThreadedEngine engine(device, {});
    std::promise<std::thread::id> first, second;
    const auto run = run_of({bpu()});
    engine.on_end(run, [&] { first.set_value(std::this_thread::get_id()); });
    engine.submit(run);
    const std::thread::id caller = first.get_future().get();
    EXPECT_NE(caller, std::this_thread::get_id());
    EXPECT_EQ(run->status(), 0);
    engine.on_end(run, [&] { second.set_value(std::this_thread::get_id()); });
    EXPECT_EQ(second.get_future().get(), caller);
}

TEST_F(EngineTest, ACallbackMaySubmitAndWait) {
    ThreadedEngine engine(device, {});
    std::promise<std::int32_t> status;
    const auto first = run_of({bpu()}), second = run_of({bpu()});
    engine.on_end(first, [&] {
        engine.submit(second);
        second->wait(patience());
        status.set_value(second->status());
    });
    engine.submit(first);
    EXPECT_EQ(status.get_future().get(), 0);
}

TEST_F(EngineTest, AnEngineThatEndsCancelsItsTasks) {
    std::vector<std::shared_ptr<engine::Run>> runs;
    std::atomic<int> callbacks = 0;
    {
        ThreadedEngine engine(device, {});
        for (int i = 0; i < 50; i++) {
            runs.push_back(run_of({cpu(), bpu(), cpu(), bpu()}));
            engine.on_end(runs.back(), [&] { callbacks++; });
            engine.submit(runs.back());
        }
    }
    for (const auto& run : runs)
        EXPECT_TRUE(run->status() == 0 || run->status() == -ECANCELED) << run->status();
    EXPECT_EQ(callbacks, 50);
}

TEST_F(EngineTest, MemoryIsKeptUntilTheEndAndNoLonger) {
    ThreadedEngine engine(device, {});
    auto memory = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = memory;
    std::promise<void> may_end;
    auto run = made_run({cpu([end = may_end.get_future().share()] { return end.wait(), 0; })},
                        RunOptions{}, std::move(memory));
    engine.submit(run);
    EXPECT_FALSE(watched.expired());
    may_end.set_value();
    ASSERT_TRUE(run->wait(patience()));
    EXPECT_TRUE(watched.expired());
}

/// Eight threads, mixed priorities, shapes and cores, some cancelled: each task ends once.
TEST_F(EngineTest, ManyThreadsShareAnEngine) {
    SchedulerOptions options;
    options.max_priority = 255;
    ThreadedEngine engine(device, options);
    constexpr int threads = 8, tasks = 100;
    std::atomic<int> ended = 0, callbacks = 0, wrong = 0;
    const auto client = [&](unsigned seed) {
        std::mt19937 random(seed);
        for (int i = 0; i < tasks; i++) {
            std::vector<MadeSegment> segments;
            std::size_t bpu_segments = 0;
            for (unsigned segment = 0; segment <= random() % 4; segment++) {
                const bool on_bpu = random() % 2;
                segments.push_back(on_bpu ? bpu(random() % 3 + 1) : cpu());
                bpu_segments += on_bpu;
            }
            RunOptions of;
            of.priority = random() % 4 == 0 ? 255 : random() % 255;
            of.core = random() % 3;
            const auto run = run_of(segments, of);
            engine.on_end(run, [&] { callbacks++; });
            engine.submit(run);
            if (random() % 5 == 0)
                engine.cancel(run);
            wrong += !run->wait(patience());
            wrong += run->status() != 0 && run->status() != -ECANCELED;
            wrong +=
                run->status() == 0 && bpu_segments != 0 && of.core != 0 && run->core() != of.core;
            ended++;
        }
    };
    std::vector<std::thread> clients;
    for (unsigned i = 0; i < threads; i++)
        clients.emplace_back(client, i);
    for (std::thread& thread : clients)
        thread.join();
    EXPECT_EQ(ended, threads * tasks);
    EXPECT_EQ(wrong, 0);
    for (int tries = 0; callbacks != threads * tasks && tries < 6000; tries++)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(callbacks, threads * tasks);
}

/// A queue of a device that fails: reap() throws once `fails` is set.
class FailingQueue final : public Queue {
public:
    FailingQueue(std::unique_ptr<Queue> queue, std::atomic<bool>& fails, std::atomic<int>& reaps)
        : queue_(std::move(queue)), fails_(fails), reaps_(reaps) {}
    void submit(std::span<const Job> jobs) override { queue_->submit(jobs); }
    std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override {
        reaps_++;
        if (fails_)
            throw Error(ENODEV, "it has gone");
        return queue_->reap(out, deadline_ns);
    }
    bool cancel(std::uint64_t tag) override { return queue_->cancel(tag); }
    std::size_t in_flight() const noexcept override { return queue_->in_flight(); }
    void interrupt() override { queue_->interrupt(); }

private:
    std::unique_ptr<Queue> queue_;
    std::atomic<bool>& fails_;
    std::atomic<int>& reaps_;
};

class FailingDevice final : public Device {
public:
    explicit FailingDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}
    std::string_view backend() const noexcept override { return device_->backend(); }
    drm_overtake_device_info info() const override { return device_->info(); }
    std::vector<drm_overtake_core_info> cores() const override { return device_->cores(); }
    std::unique_ptr<Buffer> create_buffer(std::size_t bytes) override {
        return device_->create_buffer(bytes);
    }
    std::unique_ptr<Queue> create_queue(const QueueOptions& options) override {
        return std::make_unique<FailingQueue>(device_->create_queue(options), fails, reaps);
    }

    std::atomic<bool> fails = false;
    std::atomic<int> reaps = 0;

private:
    std::shared_ptr<Device> device_;
};

TEST_F(EngineTest, LooksAtTheDeviceOnlyWhenThereIsNews) {
    const auto counting = std::make_shared<FailingDevice>(device);
    ThreadedEngine engine(counting, {});
    const auto run = run_of({cpu([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50)); // a faulty wait would spin
        return 0;
    })});
    engine.submit(run);
    ASSERT_TRUE(run->wait(patience()));
    EXPECT_LE(counting->reaps, 20);
}

TEST_F(EngineTest, EverythingEndsWhenTheDeviceFails) {
    const auto failing = std::make_shared<FailingDevice>(device);
    ThreadedEngine engine(failing, {});
    const auto before = run_of({bpu()});
    engine.submit(before);
    ASSERT_TRUE(before->wait(patience()));
    EXPECT_EQ(before->status(), 0);
    failing->fails = true;
    const auto during = run_of({bpu(), cpu()}), after = run_of({cpu(), bpu()});
    engine.submit(during);
    ASSERT_TRUE(during->wait(patience()));
    EXPECT_EQ(during->status(), -ENODEV);
    engine.submit(after);
    ASSERT_TRUE(after->wait(patience()));
    EXPECT_EQ(after->status(), -ENODEV);
}

} // namespace
} // namespace overtake::test
