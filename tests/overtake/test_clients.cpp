// SPDX-License-Identifier: MIT
//
// Loads, most of them on an embedded device that counts its buffers.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "load/load.hpp"
#include "load/source.hpp"
#include "model_spec.hpp"
#include "overtake/processor.hpp"
#include "programs.hpp"

using namespace overtake;

namespace {

constexpr std::uint64_t us = 1000;

/// An embedded device in mode timed that counts the buffers that are made on it.
class CountingDevice final : public Device {
public:
    CountingDevice() {
        EmbeddedOptions options;
        options.cores = 1;
        options.mode = OVERTAKE_MODE_TIMED;
        device_ = open_embedded(options);
    }

    std::string_view backend() const noexcept override { return device_->backend(); }
    drm_overtake_device_info info() const override { return device_->info(); }
    std::vector<drm_overtake_core_info> cores() const override { return device_->cores(); }
    std::unique_ptr<Buffer> create_buffer(std::size_t bytes) override {
        if (buffers++ == fails_at)
            throw Error(ENOSPC, "no more buffers");
        return device_->create_buffer(bytes);
    }
    std::unique_ptr<Queue> create_queue(const QueueOptions& options) override {
        return device_->create_queue(options);
    }

    std::uint64_t fcs() const { return device_->cores().front().fcs_normal; }

    std::atomic<std::size_t> buffers{0};
    std::size_t fails_at = SIZE_MAX;

private:
    std::shared_ptr<Device> device_;
};

/// A model of one FC of this number of us, with an operator of the CPU after it only if
/// `ends_on_cpu`.
std::shared_ptr<const Model> model_of(std::uint64_t service_us, bool ends_on_cpu = false) {
    test::ModelSpec spec = test::copy_and_softmax();
    spec.program = {test::delay_insn(service_us * 1000)};
    spec.segments[0].fcs = {fbs::Fc(0, 1, service_us * 1000)};
    if (!ends_on_cpu) {
        spec.segments.pop_back();
        spec.tensors.pop_back();
        spec.outputs = {1};
    }
    return Model::from_bytes(build(spec));
}

struct Fixture {
    std::shared_ptr<CountingDevice> device = std::make_shared<CountingDevice>();
    std::vector<load::Load> loads;
    std::atomic<bool> stop{false};

    explicit Fixture(const load::Options& options, std::uint64_t service_us = 100,
                     unsigned threads = 1, bool ends_on_cpu = false) {
        const auto model = model_of(service_us, ends_on_cpu);
        load::Load& load = loads.emplace_back();
        load.options = options;
        for (unsigned thread = 0; thread < threads; thread++)
            load.sources.push_back(load::session_source({device, model}));
        device->buffers = 0;
    }
    load::Outcome run() { return load::run(loads, stop).front(); }
};

/// A processor that hangs: it does not end its calls until go_on().
class Hanging final : public OwnProcessor {
public:
    std::int32_t prepare(const UnitDescription& unit, std::uint64_t& expected_ns) override {
        expected_ns = 1;
        return unit.unit == 0 ? 0 : -ENOTSUP;
    }
    void start(std::shared_ptr<UnitCall> call) override {
        const std::lock_guard lock(mutex_);
        calls_.push_back(std::move(call));
    }
    void go_on() {
        const std::lock_guard lock(mutex_);
        for (const std::shared_ptr<UnitCall>& call : calls_)
            call->done(call->compute());
        calls_.clear();
    }
    std::uint64_t timeout_ns() const override { return UINT64_MAX; }

private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<UnitCall>> calls_;
};

struct HangingSource {
    const std::shared_ptr<Hanging> hanging = std::make_shared<Hanging>();
    std::unique_ptr<load::Source> source;

    HangingSource() {
        ProcessorOptions own, npu, cpu;
        own.name = "own";
        own.own = hanging;
        npu.name = "npu";
        cpu.name = "cpu";
        cpu.workers = 1;
        EngineOptions options;
        options.processors = {own, npu, cpu};
        const auto device = open_embedded({});
        const auto engine = std::make_shared<Engine>(device, options);
        const auto model = engine->load(Model::from_bytes(build(test::copy_and_softmax())));
        source = load::engine_source(device, engine, model);
    }
    std::unique_ptr<load::Inference> start(const char* on) const {
        auto inference = source->make();
        TaskOptions options;
        options.on = on;
        inference->start(options);
        return inference;
    }
};

} // namespace

TEST(Load, FirstEndOfAnEngineReportsWhicheverRequestEndsFirst) {
    const HangingSource from;
    const auto first_end = from.source->first_end();
    const auto oldest = from.start("own");
    for (int round = 0; round < 10; round++) {
        const auto other = from.start("npu");
        const std::array running = {oldest.get(), other.get()};
        while (other->status() == -EINPROGRESS) // the oldest does not end
            first_end->wait(running, deadline_never);
        EXPECT_EQ(other->status(), 0);
        EXPECT_EQ(oldest->status(), -EINPROGRESS);
        first_end->wait({running.data(), 1}, 1); // a deadline that has passed
    }
    from.hanging->go_on();
    first_end->wait(std::array{oldest.get()}, deadline_never);
    EXPECT_EQ(oldest->status(), 0);
}

TEST(Load, WarmsUpWithRequestsThatDoNotCount) {
    Fixture fixture({.requests = 20, .warm_up = 7});
    const load::Outcome outcome = fixture.run();
    EXPECT_EQ(outcome.warm_up, 7u);
    EXPECT_EQ(outcome.requests.size(), 20u);
    EXPECT_EQ(fixture.device->fcs(), 27u);
    for (const load::Request& request : outcome.requests)
        EXPECT_GE(request.due_ns, outcome.begin_ns);
}

TEST(Load, ThreadsShareTheRequestsOfAModel) {
    for (const std::uint64_t period_us : {0u, 50u}) {
        Fixture fixture({.requests = 100, .period_us = period_us, .warm_up = 5}, 20, 3);
        const load::Outcome outcome = fixture.run();
        EXPECT_EQ(outcome.warm_up, 5u);
        EXPECT_EQ(outcome.requests.size(), 100u);
        EXPECT_EQ(fixture.device->fcs(), 105u);
    }
}

// No request counts before all models have warmed up.
TEST(Load, SeveralModelsBeginAtTheSameTime) {
    Fixture fixture({.requests = 30}, 300);
    load::Load& other = fixture.loads.emplace_back();
    other.options.requests = 10;
    other.options.warm_up = 20;
    other.sources.push_back(load::session_source({fixture.device, model_of(300)}));
    const auto outcomes = load::run(fixture.loads, fixture.stop);
    ASSERT_EQ(outcomes.size(), 2u);
    EXPECT_EQ(outcomes[0].requests.size(), 30u);
    EXPECT_EQ(outcomes[1].requests.size(), 10u);
    EXPECT_EQ(outcomes[1].warm_up, 20u);
    EXPECT_GE(outcomes[0].requests.front().due_ns, outcomes[1].begin_ns);
    EXPECT_GE(outcomes[1].requests.front().due_ns, outcomes[0].begin_ns);
    EXPECT_LT(outcomes[0].begin_ns, outcomes[1].requests.back().done_ns);
}

// 400 requests come 1 us apart, to a device that takes 500 us for each.  Most of them wait, none is
// lost, and few have buffers.
TEST(Load, OverloadIsBoundedAndLosesNothing) {
    Fixture fixture({.requests = 400, .period_us = 1}, 500);
    const std::size_t limit = load::open_loop_limit(fixture.loads[0].sources[0]->model(), 1);
    const load::Outcome outcome = fixture.run();
    EXPECT_EQ(outcome.requests.size(), 400u);
    EXPECT_EQ(outcome.waiting, 0u);
    EXPECT_GE(outcome.most_waiting, 400 - limit - 2);
    EXPECT_EQ(outcome.tasks, limit);
    EXPECT_EQ(fixture.device->buffers, 2 * limit); // the input and the output of each task
    for (std::size_t index = 0; index < 400; index++) {
        const load::Request& request = outcome.requests[index];
        EXPECT_EQ(request.due_ns, outcome.begin_ns + index * us); // whenever the client made it
        // The device takes one request after the other, and the time in the client counts.
        EXPECT_GE(request.done_ns - request.due_ns, index * 499 * us);
    }
}

TEST(Load, WhatWaitsAtTheEndIsCounted) {
    Fixture fixture({.requests = 0, .period_us = 10, .longest_ns = 20'000 * us}, 500);
    const load::Outcome outcome = fixture.run();
    // Requests are due every 10 us from 0 to 20 ms.
    EXPECT_EQ(outcome.end_ns, outcome.begin_ns + 20'000 * us);
    EXPECT_EQ(outcome.requests.size() + outcome.waiting, 2001u);
    EXPECT_GT(outcome.waiting, 1000u);
}

TEST(Load, ALimitOfOpenLoopsFollowsMemory) {
    test::ModelSpec spec = test::copy_and_softmax();
    const auto limit = [&](std::size_t sessions) {
        return load::open_loop_limit(*Model::from_bytes(build(spec)), sessions);
    };
    EXPECT_EQ(limit(1), 64u);
    EXPECT_EQ(limit(4), 16u);
    EXPECT_EQ(limit(100), 1u);
    spec.segments[0].scratch_bytes = 100u << 20;
    EXPECT_EQ(limit(1), 2u);
    spec.segments[0].scratch_bytes = OVERTAKE_MAX_SCRATCH_BYTES;
    EXPECT_EQ(limit(1), 1u);
}

TEST(Load, AFullTimeEndsAClosedLoop) {
    Fixture fixture({.requests = 0, .in_flight = 3, .longest_ns = 10'000 * us}, 100);
    const load::Outcome outcome = fixture.run();
    EXPECT_GT(outcome.requests.size(), 0u);
    EXPECT_EQ(outcome.tasks, 3u);
    for (const load::Request& request : outcome.requests)
        EXPECT_LE(request.due_ns, outcome.end_ns);
}

TEST(Load, StopEndsItBeforeAndAfterItHasBegun) {
    Fixture fixture({.requests = 0, .period_us = 100});
    fixture.stop = true;
    EXPECT_TRUE(fixture.run().requests.empty());
    fixture.stop = false;
    std::vector<load::Outcome> outcomes =
        load::run(fixture.loads, fixture.stop, [&](double) { fixture.stop = true; });
    EXPECT_GT(outcomes[0].requests.size(), 0u);
}

TEST(Load, AResultOfACpuSegmentIsDoneAfterTheLastFcEnds) {
    Fixture on_cpu({.requests = 5}, 100, 1, true);
    for (const load::Request& request : on_cpu.run().requests)
        EXPECT_GT(request.done_ns, request.end_ns);
    Fixture on_device({.requests = 5}, 100);
    for (const load::Request& request : on_device.run().requests)
        EXPECT_EQ(request.done_ns, request.end_ns);
}

TEST(Load, AClientThatCannotGoOnEndsAllOfThem) {
    for (const std::uint64_t warm_up : {0u, 10u}) {
        Fixture fixture({.requests = 0, .warm_up = warm_up}, 100, 3);
        fixture.device->fails_at = 3;
        EXPECT_THROW(fixture.run(), Error);
    }
}
