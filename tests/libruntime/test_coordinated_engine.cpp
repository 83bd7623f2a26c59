// SPDX-License-Identifier: MIT
//
// An engine with several processors: requests, where they run, and what they report.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "copy_inference.hpp"
#include "expect_error.hpp"
#include "model_spec.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"

namespace overtake::test {
namespace {

CopyInference expected() {
    Engine engine(open_embedded({}));
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    CopyInference inference;
    EXPECT_TRUE(inference.submit(engine, model)->wait());
    return inference;
}

EngineOptions several(std::vector<ProcessorOptions> processors, const char* policy = "priority") {
    EngineOptions options;
    options.policy = policy;
    options.processors = std::move(processors);
    return options;
}

ProcessorOptions cores(const char* name = "npu") {
    ProcessorOptions processor;
    processor.name = name;
    return processor;
}

ProcessorOptions pool(unsigned workers = 2, const char* name = "cpu") {
    ProcessorOptions processor;
    processor.name = name;
    processor.workers = workers;
    return processor;
}

TEST(CoordinatedEngine, GivesTheSameBitsWhereverAUnitRuns) {
    const CopyInference wanted = expected();
    Engine engine(open_embedded({}), several({cores(), pool()}));
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    for (const char* on : {"", "npu", "npu.1", "npu.2", "cpu"}) {
        CopyInference inference;
        TaskOptions options;
        options.on = on;
        const auto request = inference.submit(engine, model, options);
        ASSERT_TRUE(request->wait());
        EXPECT_EQ(request->status(), 0) << request->error();
        EXPECT_TRUE(inference == wanted) << on;
        const std::vector<RunRecord> runs = request->runs();
        ASSERT_FALSE(runs.empty());
        std::uint64_t units = 0;
        for (const RunRecord& run : runs) {
            EXPECT_EQ(units & run.units, 0u);
            units |= run.units;
            EXPECT_EQ(run.status, 0);
            EXPECT_LE(run.start_ns, run.end_ns);
        }
        EXPECT_EQ(units, 0b11u);
        EXPECT_EQ(runs.back().processor, "cpu"); // softmax
        if (std::string(on) == "npu.2") {
            EXPECT_EQ(runs.front().processor, "npu.2");
        }
    }
}

TEST(CoordinatedEngine, NeedsNoCores) {
    const CopyInference wanted = expected();
    Engine engine(open_embedded({}), several({pool(1)}));
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    CopyInference inference;
    ASSERT_TRUE(inference.submit(engine, model)->wait());
    EXPECT_TRUE(inference == wanted);
}

TEST(CoordinatedEngine, UsesCoresOfASecondDevice) {
    const CopyInference wanted = expected();
    ProcessorOptions other = cores("other");
    other.device = open_embedded({});
    Engine engine(open_embedded({}), several({cores(), other, pool()}));
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    for (const char* on : {"npu", "other", "other.1"}) {
        CopyInference inference;
        TaskOptions options;
        options.on = on;
        const auto request = inference.submit(engine, model, options);
        ASSERT_TRUE(request->wait());
        EXPECT_EQ(request->status(), 0) << request->error();
        EXPECT_TRUE(inference == wanted) << on;
    }
}

TEST(CoordinatedEngine, RunsComputationsBetweenInferences) {
    Engine engine(open_embedded({}), several({cores(), pool()}));
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    CopyInference first, second;
    const auto request = engine.create_request();
    request->add([&] {
        std::fill(first.in.begin(), first.in.end(), 2.0f);
        return 0;
    });
    first.add_to(*request, model);
    request->add([&] {
        second.in = first.copied;
        return 0;
    });
    second.add_to(*request, model);
    request->submit();
    ASSERT_TRUE(request->wait());
    EXPECT_EQ(request->status(), 0) << request->error();
    EXPECT_EQ(first.copied, std::vector<float>(CopyInference::elements, 2.0f));
    EXPECT_EQ(second.copied, first.copied);
    const auto failing = engine.create_request();
    failing->add([] { return -EPROTO; });
    first.add_to(*failing, model);
    failing->submit();
    ASSERT_TRUE(failing->wait());
    EXPECT_EQ(failing->status(), -EPROTO);
    EXPECT_TRUE(failing->runs().empty());
}

TEST(CoordinatedEngine, RunsManyAtATimeUnderEveryPolicy) {
    const CopyInference wanted = expected();
    for (const char* policy : {"priority", "round-robin", "shortest-latency", "heft",
                               "heft-reserved", "least-slack", "fixed"}) {
        Engine engine(open_embedded({}), several({cores(), pool(3)}, policy));
        const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
        std::vector<std::thread> threads;
        std::atomic<int> equal = 0;
        for (int t = 0; t < 4; t++)
            threads.emplace_back([&] {
                for (int round = 0; round < 20; round++) {
                    std::array<CopyInference, 4> inferences;
                    std::vector<std::shared_ptr<Request>> requests;
                    TaskOptions options;
                    if (std::string(policy) == "fixed")
                        options.on = "npu";
                    if (std::string(policy) == "round-robin")
                        options.on = "cpu";
                    for (CopyInference& inference : inferences)
                        requests.push_back(inference.submit(engine, model, options));
                    for (std::size_t i = 0; i < requests.size(); i++) {
                        requests[i]->wait();
                        equal += requests[i]->status() == 0 && inferences[i] == wanted;
                    }
                }
            });
        for (std::thread& thread : threads)
            thread.join();
        EXPECT_EQ(equal, 4 * 20 * 4) << policy;
    }
}

TEST(CoordinatedEngine, CancelsAndStops) {
    auto engine = std::make_unique<Engine>(open_embedded({}), several({cores(), pool(1)}));
    const auto model = engine->load(Model::from_bytes(build(copy_and_softmax())));
    std::array<CopyInference, 50> inferences;
    std::vector<std::shared_ptr<Request>> requests;
    std::atomic<int> callbacks = 0;
    for (CopyInference& inference : inferences) {
        requests.push_back(inference.submit(*engine, model));
        requests.back()->on_end([&] { callbacks++; });
    }
    for (std::size_t i = 0; i < requests.size(); i += 2)
        requests[i]->cancel();
    engine.reset();
    for (const auto& request : requests) {
        EXPECT_TRUE(request->status() == 0 || request->status() == -ECANCELED) << request->status();
        EXPECT_TRUE(request->wait(0));
    }
    EXPECT_EQ(callbacks, 50);
}

TEST(CoordinatedEngine, RefusesImpossibleOptionsAndRequests) {
    const auto device = open_embedded({});
    const auto refuses = [&](EngineOptions options, const char* text) {
        expect_error(EINVAL, text, [&] { Engine(device, options); });
    };
    refuses(several({cores()}, "fair"), "no policy 'fair'");
    refuses(several({cores(), cores()}), "two processors named 'npu'");
    ProcessorOptions third = cores();
    third.cores = {3};
    refuses(several({third}), "names core 3, but its device has 2");
    ProcessorOptions deep = cores();
    deep.depth = 9;
    refuses(several({deep}), "depth 9");
    refuses(several({pool(65)}), "65 workers, at most 64");
    EngineOptions window = several({cores()});
    window.window = 0;
    refuses(window, "window is 0");
    EngineOptions service = several({cores()});
    service.service = true;
    refuses(service, "service mode");

    Engine engine(device, several({cores()}));
    const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
    CopyInference inference;
    expect_error(EINVAL,
                 "no processor of the engine can run its unit 1; name a processor of class cpu, "
                 "which it was compiled for",
                 [&] { inference.submit(engine, model); });
    Engine of_workers(device, several({pool(1, "little")}));
    const auto of_two = of_workers.load(Model::from_bytes(build(copy_and_softmax())));
    EXPECT_TRUE(inference.submit(of_workers, of_two)->wait());
    Engine fixed(device, several({cores(), pool()}, "fixed"));
    const auto of_fixed = fixed.load(Model::from_bytes(build(copy_and_softmax())));
    expect_error(EINVAL, "TaskOptions::on", [&] { inference.submit(fixed, of_fixed); });
    TaskOptions elsewhere;
    elsewhere.on = "gpu";
    expect_error(EINVAL, "no processor 'gpu'; the engine has npu.1, npu.2, cpu",
                 [&] { inference.submit(fixed, of_fixed, elsewhere); });
}

} // namespace
} // namespace overtake::test
