// SPDX-License-Identifier: MIT
//
// Models with a plan for several cores: which tasks run the plan, and which run the program for one
// core.
#include <array>
#include <cerrno>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "copy_inference.hpp"
#include "core_plans.hpp"
#include "overtake/overtake.hpp"

namespace overtake::test {
namespace {

/// The numbers of FCs of with_core_plan() on one core, and of its plan.
constexpr unsigned on_one_core = 2, on_two_cores = 3;

std::vector<float> numbers() {
    std::vector<float> values(60);
    for (std::size_t i = 0; i < values.size(); i++)
        values[i] = 0.5f * static_cast<float>(static_cast<int>(i * 37 % 200) - 100);
    return values;
}

/// Runs a task and checks its outputs; returns the completion of its job.
Completion run(Session& session, const TaskOptions& options = {}) {
    const std::vector<float> input = numbers();
    Task task = session.submit(input, options);
    EXPECT_TRUE(task.wait(patience()));
    EXPECT_EQ(task.status(), 0);
    EXPECT_EQ(task.output(1), input);
    EXPECT_EQ(task.completions().size(), 1u);
    return task.completions().empty() ? Completion{} : task.completions()[0];
}

Completion run(const std::vector<std::string>& profiles, const fbs::ModelT& model) {
    EmbeddedOptions options;
    options.cores = static_cast<unsigned>(profiles.size());
    options.profiles = profiles;
    Session session(open_embedded(options), loaded(model));
    return run(session);
}

class CorePlansTest : public testing::TestWithParam<Backend> {};

TEST_P(CorePlansTest, ASessionUsesAllCoresUnlessATaskNamesOne) {
    const auto device = open_backend(GetParam(), {});
    SKIP_WITHOUT(device);
    const bool is_default = device->info().core_count >= 2;
    auto model = with_core_plan();
    // A kernel device may have another profile.
    for (auto& profile : model->core_plan->profiles)
        profile->name = device->core_profiles()[0].name;
    Session session(device, loaded(*model));
    EXPECT_EQ(run(session).fcs_done, is_default ? on_two_cores : on_one_core);
    EXPECT_EQ(run(session, {.core = 1}).fcs_done, on_one_core);
    EXPECT_EQ(run(session).fcs_done, is_default ? on_two_cores : on_one_core);
}

INSTANTIATE_TEST_SUITE_P(Backends, CorePlansTest, testing::ValuesIn(all_backends()), backend_name);

TEST(CorePlans, ADeviceWithFewerCoresRunsOneCoresProgram) {
    const auto model = with_core_plan();
    EXPECT_EQ(run({"default"}, *model).fcs_done, on_one_core);
    EXPECT_EQ(run({"default", "default", "default"}, *model).fcs_done, on_two_cores);
    EXPECT_EQ(run({"ideal", "ideal"}, *model).fcs_done, on_one_core) << "of another profile";
}

TEST(CorePlans, OnlyCoresOfItsProfileAreTaken) {
    const auto model = with_core_plan();
    EXPECT_EQ(run({"ideal", "default"}, *model).fcs_done, on_one_core);
    const Completion job = run({"ideal", "default", "ideal", "default"}, *model);
    EXPECT_EQ(job.fcs_done, on_two_cores);
    EXPECT_EQ(job.core, 2u);
}

TEST(CorePlans, EachPartRunsOnACoreOfItsOwnProfile) {
    const auto model = with_core_plan();
    auto& profiles = model->core_plan->profiles;
    profiles.push_back(std::make_unique<fbs::ProfileT>(*profiles[0]));
    profiles[1]->name = "ideal";
    const Completion job = run({"ideal", "ideal", "default"}, *model);
    EXPECT_EQ(job.fcs_done, on_two_cores);
    EXPECT_EQ(job.core, 3u) << "that of part 0";
    EXPECT_EQ(run({"default", "default"}, *model).fcs_done, on_one_core);
}

/// A device that reports that it takes no groups, like an old driver.
class OldDevice final : public Device {
public:
    std::string_view backend() const noexcept override { return device_->backend(); }
    drm_overtake_device_info info() const override { return device_->info(); }
    std::vector<drm_overtake_core_info> cores() const override { return device_->cores(); }
    std::unique_ptr<Buffer> create_buffer(std::size_t bytes) override {
        return device_->create_buffer(bytes);
    }
    std::unique_ptr<Queue> create_queue(const QueueOptions& options) override {
        return device_->create_queue(options);
    }
    std::vector<drm_overtake_core_profile> core_profiles() const override {
        return device_->core_profiles();
    }
    bool takes_groups() const noexcept override { return false; }

private:
    const std::shared_ptr<Device> device_ = open_embedded();
};

TEST(CorePlans, AnOldDriverRunsOneCoresProgram) {
    Session session(std::make_shared<OldDevice>(), loaded(*with_core_plan()));
    EXPECT_EQ(run(session).fcs_done, on_one_core);
}

/// Returns the number of FCs that a request of an engine ran.
unsigned fcs_of(const EngineOptions& options, const std::shared_ptr<Device>& device,
                const TaskOptions& task = {}) {
    Engine engine(device, options);
    const auto model = engine.load(loaded(*with_core_plan()));
    CopyInference inference;
    const auto request = inference.submit(engine, model, task);
    EXPECT_TRUE(request->wait(patience()));
    EXPECT_EQ(request->status(), 0) << request->error();
    EXPECT_EQ(inference.copied, inference.in);
    for (const SegmentRecord& segment : request->segments())
        if (segment.on_bpu)
            return segment.job.fcs_done;
    return 0;
}

TEST(CorePlans, AnEngineUsesAllCoresUnlessARequestNamesOne) {
    const auto device = open_embedded();
    EXPECT_EQ(fcs_of({}, device), on_two_cores);
    EXPECT_EQ(fcs_of({}, device, {.core = 2}), on_one_core);
}

TEST(CorePlans, EnginesOfUnlikeCoresRunOneCoresProgram) {
    EmbeddedOptions options;
    options.cores = 3;
    options.profiles = {"default", "ideal", "default"};
    EXPECT_EQ(fcs_of({}, open_embedded(options)), on_one_core);
}

TEST(CorePlans, AnEngineInServiceModeUsesAllCoresUnlessARequestNamesOne) {
    const TestServer server(EmbeddedOptions{});
    EngineOptions options;
    options.service = true;
    EXPECT_EQ(fcs_of(options, open_server(server.path())), on_two_cores);
    EXPECT_EQ(fcs_of(options, open_server(server.path()), {.core = 2}), on_one_core);
    EXPECT_EQ(fcs_of({}, open_server(server.path())), on_two_cores);
}

TEST(CorePlans, AnEngineOfSeveralProcessorsRunsOneCoresProgram) {
    const auto device = open_embedded();
    EngineOptions options;
    options.processors = parse_processors("npu,cpu", device);
    EXPECT_EQ(fcs_of(options, device), on_one_core);
}

TEST(CorePlans, AnEstimateIsTheTimeAloneOfAllParts) {
    EmbeddedOptions options;
    options.mode = OVERTAKE_MODE_TIMED;
    options.profile = "default";
    const auto device = open_embedded(options);
    Engine engine(device);
    const auto model = engine.load(loaded(*with_core_plan()));
    EXPECT_EQ(model->estimate_ns(0), 600u) << "the compiler's";
    CopyInference inference;
    const auto request = inference.submit(engine, model);
    ASSERT_TRUE(request->wait(patience()));
    ASSERT_EQ(request->status(), 0);
    const auto job =
        request->segments()[0].on_bpu ? request->segments()[0].job : request->segments()[1].job;
    // Core 2 runs two FCs, one after the other; core 1 a shorter one beside the first.
    EXPECT_LT(model->estimate_ns(0), job.executed_ns);
    EXPECT_GT(model->estimate_ns(0), job.executed_ns / 2);
}

/// A request among many, which may be cancelled.
struct Any {
    CopyInference inference;
    std::shared_ptr<Request> request;
};

TEST(CorePlans, RequestsOfAllKindsEndOnceAndRight) {
    for (const unsigned slots : {1u, 2u}) {
        EmbeddedOptions embedded;
        embedded.cores = 4;
        embedded.mode = OVERTAKE_MODE_BOTH;
        embedded.core_limit = 1;
        EngineOptions options;
        options.max_priority = priority_high;
        options.slots = slots;
        Engine engine(open_embedded(embedded), options);
        const std::array models = {engine.load(loaded(*with_core_plan())),
                                   engine.load(Model::from_bytes(build(copy_and_softmax())))};
        const auto work = [&](unsigned seed) {
            std::mt19937 random(seed);
            std::vector<Any> all(100);
            for (Any& each : all) {
                TaskOptions task;
                task.priority = random() % 5 == 0 ? priority_high : random() % 255;
                task.core = random() % 3 == 0 ? 1 + random() % 4 : core_any;
                each.request = engine.create_request();
                for (std::size_t i = 0, count = 1 + random() % 2; i < count; i++)
                    each.inference.add_to(*each.request, models[random() % 2]);
                each.request->submit(task);
                if (random() % 4 == 0)
                    all[random() % (&each - all.data() + 1)].request->cancel();
            }
            for (Any& each : all) {
                ASSERT_TRUE(each.request->wait(patience()));
                if (each.request->status() == 0)
                    EXPECT_EQ(each.inference.copied, each.inference.in);
                else
                    EXPECT_EQ(each.request->status(), -ECANCELED) << each.request->error();
            }
        };
        std::vector<std::thread> threads;
        for (unsigned seed = 1; seed <= 4; seed++)
            threads.emplace_back(work, seed);
        for (std::thread& thread : threads)
            thread.join();
    }
}

TEST(CorePlans, TwoRequestsShareADeviceOfFourCores) {
    EmbeddedOptions options;
    options.cores = 4;
    options.mode = OVERTAKE_MODE_BOTH;
    struct Seen {
        std::mutex mutex;
        std::set<unsigned> cores;
    } seen;
    options.on_fc = [](void* context, const FcRecord& record) {
        auto& all = *static_cast<Seen*>(context);
        const std::lock_guard lock(all.mutex);
        all.cores.insert(record.core);
    };
    options.on_fc_context = &seen;
    Engine engine(open_embedded(options));
    const auto model = engine.load(loaded(*with_core_plan()));
    std::vector<CopyInference> inferences(40);
    std::vector<std::shared_ptr<Request>> requests;
    for (CopyInference& inference : inferences)
        requests.push_back(inference.submit(engine, model));
    for (const auto& request : requests) {
        ASSERT_TRUE(request->wait(patience()));
        EXPECT_EQ(request->status(), 0);
    }
    for (const CopyInference& inference : inferences)
        EXPECT_EQ(inference.copied, inference.in);
    const std::lock_guard lock(seen.mutex);
    EXPECT_GT(seen.cores.size(), 2u);
}

} // namespace
} // namespace overtake::test
