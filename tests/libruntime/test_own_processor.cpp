// SPDX-License-Identifier: MIT
//
// Processors of the program's own: the calls that they get, and what happens to tasks when they are
// slow, fail, lie or never answer.
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "copy_inference.hpp"
#include "expect_error.hpp"
#include "model_spec.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"
#include "overtake/processor.hpp"

namespace overtake::test {
namespace {

/// A processor that does what the test says.
class Scripted : public OwnProcessor {
public:
    std::function<void(std::shared_ptr<UnitCall>)> on_start = [](const auto& call) {
        call->done(call->compute());
    };
    std::function<void(UnitCall&)> on_cancel = [](UnitCall&) {};
    std::function<void(UnitCall&)> on_poll = [](UnitCall&) {};
    std::function<bool()> on_probe = [] { return true; };
    std::uint64_t polls_every_ns = 0;
    std::uint64_t patience_ns = 10'000'000'000;
    std::uint64_t runs_units = ~std::uint64_t{0};
    std::atomic<int> prepared = 0, released = 0, started = 0;

    std::int32_t prepare(const UnitDescription& unit, std::uint64_t& expected_ns) override {
        if (!(runs_units >> unit.unit & 1))
            return -ENOTSUP;
        prepared++;
        expected_ns = 1; // plans prefer it then
        return 0;
    }
    void start(std::shared_ptr<UnitCall> call) override {
        started++;
        on_start(std::move(call));
    }
    void poll(UnitCall& call) override { on_poll(call); }
    std::uint64_t poll_ns() const override { return polls_every_ns; }
    void cancel(UnitCall& call) override { on_cancel(call); }
    void release(const UnitDescription&) override { released++; }
    bool probe() override { return on_probe(); }
    std::uint64_t timeout_ns() const override { return patience_ns; }
};

EngineOptions with(const std::shared_ptr<OwnProcessor>& own) {
    ProcessorOptions mine, npu, cpu;
    mine.name = "mine";
    mine.own = own;
    npu.name = "npu";
    cpu.name = "cpu";
    cpu.workers = 1;
    EngineOptions options;
    options.processors = {mine, npu, cpu};
    options.retry_after_ns = 200'000;
    return options;
}

class OwnProcessors : public testing::Test {
protected:
    void make() {
        engine = std::make_unique<Engine>(open_embedded({}), with(own));
        model = engine->load(Model::from_bytes(build(copy_and_softmax())));
    }
    ProcessorState state() const { return engine->processors().front(); }
    void expect_done(const std::shared_ptr<Request>& request, const CopyInference& inference) {
        ASSERT_TRUE(request->wait());
        EXPECT_EQ(request->status(), 0) << request->error();
        EXPECT_EQ(inference.copied, inference.in);
        EXPECT_EQ(inference.softmax, wanted.softmax);
    }

    const std::shared_ptr<Scripted> own = std::make_shared<Scripted>();
    std::unique_ptr<Engine> engine;
    std::shared_ptr<LoadedModel> model;
    CopyInference wanted;

    void SetUp() override {
        Engine usual(open_embedded({}));
        const auto loaded = usual.load(Model::from_bytes(build(copy_and_softmax())));
        ASSERT_TRUE(wanted.submit(usual, loaded, "")->wait());
    }
};

TEST_F(OwnProcessors, GetTensorsAndGiveTheSameBits) {
    std::vector<std::size_t> units;
    own->on_start = [&](const std::shared_ptr<UnitCall>& call) {
        units.push_back(call->unit());
        EXPECT_EQ(call->inputs().size(), 1u);
        EXPECT_EQ(call->outputs().size(), 1u);
        EXPECT_EQ(call->inputs()[0].bytes.size(), call->inputs()[0].tensor.bytes);
        EXPECT_FALSE(call->outputs()[0].bytes.empty());
        call->done(call->compute());
    };
    make();
    CopyInference inference;
    const auto request = inference.submit(*engine, model, "mine");
    expect_done(request, inference);
    EXPECT_EQ(units, (std::vector<std::size_t>{0, 1}));
    for (const RunRecord& run : request->runs())
        EXPECT_EQ(run.processor, "mine");
    EXPECT_EQ(own->prepared, 2);
    EXPECT_EQ(own->released, 0);
    request->on_end(nullptr);
    model.reset();
    engine.reset();
}

TEST_F(OwnProcessors, AreReleasedWithTheModel) {
    make();
    model.reset();
    EXPECT_EQ(own->released, 2);
}

TEST_F(OwnProcessors, RunWhatTheyPrepared) {
    own->runs_units = 0b01;
    make();
    CopyInference inference;
    const auto request = inference.submit(*engine, model, "mine"); // its other units fall back
    expect_done(request, inference);
    ASSERT_EQ(request->runs().size(), 2u);
    EXPECT_EQ(request->runs()[0].processor, "mine");
    EXPECT_EQ(request->runs()[1].processor, "cpu");
}

TEST_F(OwnProcessors, MayAnswerFromAnotherThread) {
    std::vector<std::thread> threads;
    std::mutex mutex;
    own->on_start = [&](const std::shared_ptr<UnitCall>& call) {
        const std::lock_guard lock(mutex);
        threads.emplace_back([call] { call->done(call->compute()); });
    };
    make();
    CopyInference inference;
    expect_done(inference.submit(*engine, model, "mine"), inference);
    engine.reset();
    for (std::thread& thread : threads)
        thread.join();
}

TEST_F(OwnProcessors, MayBePolled) {
    std::shared_ptr<UnitCall> under_way;
    std::atomic<int> polls = 0;
    own->polls_every_ns = 100'000;
    own->on_start = [&](const std::shared_ptr<UnitCall>& call) { under_way = call; };
    own->on_poll = [&](UnitCall& call) {
        if (++polls % 3 == 0)
            call.done(call.compute());
    };
    make();
    CopyInference inference;
    expect_done(inference.submit(*engine, model, "mine"), inference);
    EXPECT_GE(polls, 6);
    engine.reset();
}

TEST_F(OwnProcessors, FailAndComeBack) {
    std::atomic<bool> works = false;
    own->on_probe = [&] { return works.load(); };
    own->on_start = [&](const std::shared_ptr<UnitCall>& call) {
        call->done(works ? call->compute() : -EIO);
    };
    make();
    CopyInference inference;
    const auto request = inference.submit(*engine, model, "");
    expect_done(request, inference);
    EXPECT_EQ(request->runs().front().status, -EIO);
    EXPECT_EQ(request->runs().front().processor, "mine");
    works = true;
    while (!state().in_use)
        std::this_thread::yield();
    expect_done(inference.submit(*engine, model, "mine"), inference);
}

TEST_F(OwnProcessors, AnExceptionIsAFailureOfTheProcessor) {
    own->on_start = [](const auto&) { throw std::runtime_error("no"); };
    own->on_probe = [] { return false; };
    make();
    CopyInference inference;
    expect_done(inference.submit(*engine, model, ""), inference);
    EXPECT_FALSE(state().in_use);
}

TEST_F(OwnProcessors, AnErrorOfACallIsTheStatusOfTheTask) {
    own->on_start = [](const std::shared_ptr<UnitCall>& call) { call->done(-EDOM); };
    make();
    CopyInference inference;
    const auto request = inference.submit(*engine, model, "mine");
    ASSERT_TRUE(request->wait());
    EXPECT_EQ(request->status(), -EDOM);
    EXPECT_TRUE(state().in_use);
}

/// A task whose call gets no answer ends on other processors, while other tasks go on.
TEST_F(OwnProcessors, ThatNeverAnswerAreGivenUp) {
    std::shared_ptr<UnitCall> kept;
    std::atomic<bool> has_started = false, answers = false;
    own->patience_ns = 1'000'000;
    own->on_start = [&](const std::shared_ptr<UnitCall>& call) {
        if (answers) {
            call->done(call->compute());
            return;
        }
        kept = call;
        has_started = true;
    };
    make();
    CopyInference inference;
    expect_done(inference.submit(*engine, model, ""), inference);
    EXPECT_FALSE(state().in_use);
    CopyInference other;
    expect_done(other.submit(*engine, model, "npu"), other);
    // On a busy host, the engine may give the call up before its thread starts it.
    while (!has_started)
        std::this_thread::yield();
    answers = true;
    // The processor answers at last, into tensors of the call's own; then it may be tried.
    EXPECT_EQ(kept->compute(), 0);
    kept->done(0);
    kept->done(0);
    kept.reset();
    while (!state().in_use)
        std::this_thread::yield();
    expect_done(inference.submit(*engine, model, "mine"), inference);
}

/// A call that its processor drops fails, at once or when the engine gives it up.
TEST_F(OwnProcessors, ThatDropACallHaveFailed) {
    own->patience_ns = 1'000'000;
    std::atomic<bool> answers = false;
    own->on_start = [&](const std::shared_ptr<UnitCall>& call) {
        if (answers)
            call->done(call->compute());
    };
    make();
    CopyInference inference;
    expect_done(inference.submit(*engine, model, ""), inference);
    answers = true;
    while (!state().in_use)
        std::this_thread::yield();
    expect_done(inference.submit(*engine, model, "mine"), inference);
}

TEST_F(OwnProcessors, MayThrowAnything) {
    own->on_start = [](const auto&) { throw 42; };
    own->on_probe = [] { return false; };
    make();
    CopyInference inference;
    expect_done(inference.submit(*engine, model, ""), inference);
}

/// The objects that a request keeps are destroyed in a thread that holds no lock of the engine.
TEST_F(OwnProcessors, ObjectsThatARequestKeepsMayCallTheEngine) {
    make();
    CopyInference inference;
    std::atomic<std::size_t> seen = 0;
    {
        auto request = engine->create_request();
        inference.add_to(*request, model);
        request->keep(
            std::shared_ptr<void>(nullptr, [&](void*) { seen = engine->processors().size(); }));
        request->submit();
        ASSERT_TRUE(request->wait());
    }
    EXPECT_EQ(seen, 4u);
}

TEST_F(OwnProcessors, ThatDoNotReturnDoNotHoldTheEngine) {
    std::mutex mutex;
    std::condition_variable changed;
    bool may_return = false, has_returned = false;
    own->patience_ns = 1'000'000;
    own->on_start = [&](const std::shared_ptr<UnitCall>&) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return may_return; });
        has_returned = true;
        changed.notify_all();
    };
    make();
    CopyInference inference, other;
    expect_done(inference.submit(*engine, model, ""), inference);
    expect_done(other.submit(*engine, model, ""), other);
    model.reset();
    engine.reset(); // while the thread is in start()
    std::unique_lock lock(mutex);
    may_return = true;
    changed.notify_all();
    changed.wait(lock, [&] { return has_returned; });
}

TEST_F(OwnProcessors, AreNotifiedOfACancel) {
    std::shared_ptr<UnitCall> under_way;
    std::atomic<bool> has_begun = false;
    own->on_start = [&](const std::shared_ptr<UnitCall>& call) {
        under_way = call;
        has_begun = true;
    };
    own->on_cancel = [](UnitCall& call) { call.done(-ECANCELED); };
    make();
    CopyInference inference;
    const auto request = inference.submit(*engine, model, "mine");
    while (!has_begun)
        std::this_thread::yield();
    request->cancel();
    ASSERT_TRUE(request->wait());
    EXPECT_EQ(request->status(), -ECANCELED);
    engine.reset();
}

TEST_F(OwnProcessors, MayBeRegistered) {
    static const auto registered = std::make_shared<Scripted>();
    static const bool once = [] {
        register_processor("test-gpu", registered);
        return true;
    }();
    ASSERT_TRUE(once);
    expect_error(EEXIST, "'test-gpu' is registered already",
                 [] { register_processor("test-gpu", registered); });
    expect_error(EINVAL, "name of a class", [] { register_processor("", registered); });
    EngineOptions options = with(own);
    options.processors[0].own = nullptr;
    options.processors[0].class_name = "test-gpu";
    engine = std::make_unique<Engine>(open_embedded({}), options);
    model = engine->load(Model::from_bytes(build(copy_and_softmax())));
    CopyInference inference;
    expect_done(inference.submit(*engine, model, "mine"), inference);
    EXPECT_GT(registered->started, 0);
    options.processors[0].own = own;
    options.processors[0].workers = 2;
    expect_error(EINVAL, "'mine' is a processor of the program's",
                 [&] { Engine(open_embedded({}), options); });
}

} // namespace
} // namespace overtake::test
