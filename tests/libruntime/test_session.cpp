// SPDX-License-Identifier: MIT
//
// Sessions: a model's segments run in order on any device, between the user's arrays.
#include <cerrno>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "expect_error.hpp"
#include "model_spec.hpp"
#include "overtake/overtake.hpp"
#include "overtake_isa.h"
#include "watched_device.hpp"

namespace overtake::test {
namespace {

class SessionTest : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        device = open_backend(GetParam(), {});
        if (device && device->info().mode == OVERTAKE_MODE_TIMED) {
            device.reset();
            GTEST_SKIP() << "SKIPPED: mode timed does no arithmetic";
        }
    }
    static std::shared_ptr<const Model> load(const ModelSpec& spec) {
        return Model::from_bytes(build(spec));
    }
    /// Returns values that quantisation by 0.5 and zero point -3 does not change.
    static std::vector<float> values(std::size_t count, int seed) {
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; i++)
            values[i] =
                0.5f * static_cast<float>((static_cast<int>(i) * 37 + seed * 11) % 200 - 100);
        return values;
    }

    std::shared_ptr<Device> device;
};

TEST_P(SessionTest, RunsSegmentsInOrder) {
    SKIP_WITHOUT(device);
    Session session(device, load(copy_and_softmax(4, 5, 3)));
    const std::vector<float> input = values(60, 1);
    Task task = session.submit(input);
    ASSERT_TRUE(task.wait(patience()));
    ASSERT_EQ(task.status(), 0);
    EXPECT_EQ(task.output(1), input);
    const std::vector<float> softmax = task.output(0);
    for (std::size_t pixel = 0; pixel < 20; pixel++) {
        double sum = 0;
        for (std::size_t c = 0; c < 3; c++)
            sum += std::exp(double{input[c * 20 + pixel]});
        for (std::size_t c = 0; c < 3; c++)
            EXPECT_NEAR(softmax[c * 20 + pixel], std::exp(double{input[c * 20 + pixel]}) / sum,
                        1e-6);
    }
    ASSERT_EQ(task.completions().size(), 1u);
    EXPECT_EQ(task.completions()[0].fcs_done, 2u);
}

TEST_P(SessionTest, OutputsOfCpuSegmentsReachTheBpu) {
    SKIP_WITHOUT(device);
    Session session(device, load(softmax_and_copy(4, 5, 3)));
    const std::vector<float> input = values(60, 4);
    Task task = session.submit(input);
    ASSERT_TRUE(task.wait(patience()));
    ASSERT_EQ(task.status(), 0);
    const std::vector<float> copied = task.output(0);
    for (std::size_t pixel = 0; pixel < 20; pixel++) {
        double sum = 0;
        for (std::size_t c = 0; c < 3; c++)
            sum += std::exp(double{input[pixel * 3 + c]});
        // In steps of 1 / 256; the last is 255.
        for (std::size_t c = 0; c < 3; c++)
            EXPECT_NEAR(copied[pixel * 3 + c], std::exp(double{input[pixel * 3 + c]}) / sum,
                        1.01 / 256)
                << "pixel " << pixel << ", channel " << c;
    }
}

TEST_P(SessionTest, SeveralTasksAreInFlightAndEndInAnyOrder) {
    SKIP_WITHOUT(device);
    Session session(device, load(copy_and_softmax(8, 9, 11)));
    std::vector<Task> tasks;
    for (int i = 0; i < 20; i++)
        tasks.push_back(
            session.submit(values(8 * 9 * 11, i), {.priority = static_cast<unsigned>(i)}));
    for (int i = 20; i-- != 0;) {
        ASSERT_TRUE(tasks[i].wait(patience()));
        EXPECT_EQ(tasks[i].output(1), values(8 * 9 * 11, i));
    }
}

TEST_P(SessionTest, ATaskMayBeStartedAgain) {
    SKIP_WITHOUT(device);
    Session session(device, load(copy_and_softmax()));
    Task task = session.create_task();
    EXPECT_EQ(task.ended_ns(), 0);
    for (int round = 0; round < 5; round++) {
        task.set_input(0, values(60, round));
        task.start();
        EXPECT_EQ(task.ended_ns(), 0);
        ASSERT_TRUE(task.wait(patience()));
        EXPECT_EQ(task.output(1), values(60, round));
        ASSERT_EQ(task.completions().size(), 1u);
        // A CPU segment follows its BPU segment.
        EXPECT_GT(task.ended_ns(), static_cast<std::int64_t>(task.completions()[0].end_ns));
    }
}

TEST_P(SessionTest, QuantisationRoundsHalfToEvenAndSaturates) {
    SKIP_WITHOUT(device);
    ModelSpec spec = copy_and_softmax(2, 2, 2);
    for (TensorSpec& tensor : spec.tensors) {
        tensor.scale = tensor.height ? 2.0f : 0.0f;
        tensor.zero_point = tensor.height ? 1 : 0;
    }
    Session session(device, load(spec));
    // In units of the scale: ties both ways, both ends, and NaN, which becomes 0.
    const std::vector<float> input{1.0f, 3.0f, -1.0f, -3.0f, 1e30f, -1e30f, NAN, 2.5f};
    Task task = session.submit(input);
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(task.output(1),
              (std::vector<float>{0.0f, 4.0f, 0.0f, -4.0f, 252.0f, -258.0f, 0.0f, 2.0f}));
}

TEST_P(SessionTest, InputsOfBytesAreBytesWhateverTheyStandFor) {
    SKIP_WITHOUT(device);
    // A byte q means 0.5 * (q + 3).
    for (const auto& [type, input, wanted] :
         {std::tuple{DataType::uint8, std::vector<float>{0, 255, 128, 300},
                     std::vector<float>{-62.5f, 65.0f, 1.5f, 65.0f}},
          std::tuple{DataType::int8, std::vector<float>{-128, 127, 0, -300},
                     std::vector<float>{-62.5f, 65.0f, 1.5f, -62.5f}}}) {
        ModelSpec spec = copy_and_softmax(2, 2, 1);
        spec.tensors[0].data_type = static_cast<std::uint8_t>(type);
        for (std::size_t tensor : {0, 1}) {
            spec.tensors[tensor].scale = 0.5f;
            spec.tensors[tensor].zero_point = -3;
        }
        Session session(device, load(spec));
        Task task = session.submit(input);
        ASSERT_TRUE(task.wait(patience()));
        EXPECT_EQ(task.output(1), wanted) << name_of(type);
    }
}

TEST_P(SessionTest, DeviceBuffersHaveTheDocumentedLayout) {
    SKIP_WITHOUT(device);
    const auto model = load(copy_and_softmax(4, 5, 3));
    Session session(device, model);
    Task task = session.create_task();
    const std::vector<float> input = values(60, 2);
    task.set_input(0, input);
    const Tensor& tensor = model->input(0);
    const std::span<std::byte> bytes = task.input_buffer(0);
    ASSERT_EQ(bytes.size(), tensor.bytes);
    const auto q = [&](std::span<const std::byte> memory, std::size_t c, std::size_t y,
                       std::size_t x) {
        return static_cast<std::int8_t>(
            memory[y * tensor.row_stride + x * tensor.pixel_stride + c]);
    };
    for (std::size_t c = 0; c < 3; c++)
        for (std::size_t y = 0; y < 4; y++)
            for (std::size_t x = 0; x < 5; x++)
                EXPECT_EQ(0.5f * (q(bytes, c, y, x) + 3), input[(c * 4 + y) * 5 + x]);
    bytes[0] = std::byte{17};
    task.start();
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(q(task.output_buffer(1), 0, 0, 0), 17);
    EXPECT_THROW(task.output_buffer(0), Error);
}

TEST_P(SessionTest, TasksOutliveTheirSession) {
    SKIP_WITHOUT(device);
    Task task;
    {
        Session session(device, load(copy_and_softmax()));
        task = session.submit(values(60, 3));
    }
    device.reset();
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(task.output(1), values(60, 3));
}

TEST_P(SessionTest, DroppingARunningTaskIsFine) {
    SKIP_WITHOUT(device);
    Session session(device, load(copy_and_softmax()));
    for (int i = 0; i < 20; i++)
        session.submit(values(60, i));
    Task task = session.submit(values(60, 3));
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(task.status(), 0);
}

TEST_P(SessionTest, ThreadsShareOneUpload) {
    SKIP_WITHOUT(device);
    const auto model = load(copy_and_softmax());
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; thread++)
        threads.emplace_back([&, thread] {
            Session session(device, model);
            for (int i = 0; i < 25; i++) {
                Task task = session.submit(values(60, thread * 100 + i));
                ASSERT_TRUE(task.wait(patience()));
                EXPECT_EQ(task.output(1), values(60, thread * 100 + i));
            }
        });
    for (std::thread& thread : threads)
        thread.join();
}

int code_of(const std::function<void()>& action) {
    try {
        action();
        return 0;
    } catch (const Error& error) {
        return error.code();
    }
}

TEST_P(SessionTest, MisuseIsRefused) {
    SKIP_WITHOUT(device);
    Session session(device, load(copy_and_softmax()));
    Task task = session.create_task();
    EXPECT_EQ(task.status(), -EINVAL);
    EXPECT_EQ(code_of([&] { task.output(0); }), EINVAL);
    EXPECT_EQ(code_of([&] { task.set_input(0, values(59, 0)); }), EINVAL);
    EXPECT_EQ(code_of([&] { task.set_input(1, values(60, 0)); }), EINVAL);
    EXPECT_EQ(code_of([&] { task.input_buffer(1); }), EINVAL);
    EXPECT_EQ(code_of([&] { task.start({.priority = 255}); }), EPERM);
    EXPECT_EQ(task.status(), -EPERM);
    EXPECT_EQ(code_of([&] { task.output(0); }), EPERM);
    task.set_input(0, values(60, 0));
    task.start();
    EXPECT_TRUE(task.wait(patience()));
    EXPECT_EQ(task.status(), 0);
    EXPECT_EQ(code_of([&] { task.output(2); }), EINVAL);
}

TEST_P(SessionTest, AFaultySegmentEndsTheTaskWithItsError) {
    SKIP_WITHOUT(device);
    ModelSpec spec = copy_and_softmax();
    spec.program[1].opcode = 4000;
    Session session(device, load(spec));
    Task task = session.submit(values(60, 0));
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(task.status(), -ENOEXEC);
    EXPECT_EQ(code_of([&] { task.output(0); }), ENOEXEC);
    EXPECT_EQ(task.completions()[0].fault, OVERTAKE_FAULT_OPCODE);
    EXPECT_EQ(task.completions()[0].fault_insn, 1u);
}

INSTANTIATE_TEST_SUITE_P(Conformance, SessionTest, testing::ValuesIn(all_backends()), backend_name);

TEST(Session, ACancelledTaskRunsNoFurtherSegment) {
    EmbeddedOptions options;
    options.mode = OVERTAKE_MODE_TIMED;
    options.profile = "ideal";
    options.manual_clock = true;
    const auto device = open_embedded(options);
    Session session(device, Model::from_bytes(build(copy_and_softmax())));
    Task task = session.submit(std::vector<float>(60, 1.0f));
    EXPECT_FALSE(task.poll());
    EXPECT_EQ(task.status(), -EINPROGRESS);
    EXPECT_EQ(code_of([&] { task.start(); }), EBUSY);
    EXPECT_EQ(code_of([&] { task.set_input(0, std::vector<float>(60)); }), EBUSY);
    task.cancel();
    device->manual_clock()->advance_to(device->manual_clock()->now_ns() + 1'000'000'000);
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(task.status(), -ECANCELED);
    EXPECT_EQ(code_of([&] { task.output(0); }), ECANCELED);
}

TEST(Session, TasksGoToCoresOfTheModelsProfileUnlessTheyNameOne) {
    EmbeddedOptions options;
    options.cores = 3;
    options.profiles = {"ideal", "default", "ideal"};
    Session session(open_embedded(options), Model::from_bytes(build(copy_and_softmax())));
    for (const unsigned core : {core_any, core_any, core_any, 1u, 3u}) {
        Task task = session.submit(std::vector<float>(60, 1.0f), {.core = core});
        ASSERT_TRUE(task.wait(patience()));
        ASSERT_EQ(task.status(), 0);
        EXPECT_EQ(task.completions()[0].core, core == core_any ? 2 : core);
    }
}

TEST(Session, SessionsOfOneModelAndDeviceShareAnUpload) {
    const auto device = std::make_shared<WatchedDevice>();
    const auto model = Model::from_bytes(build(copy_and_softmax()));
    {
        const Session first(device, model);
        EXPECT_EQ(device->buffers, 1u) << "the program; there are no weights";
        const Session second(device, model);
        EXPECT_EQ(device->buffers, 1u);
        const Session of_another_model(device, Model::from_bytes(build(copy_and_softmax())));
        EXPECT_EQ(device->buffers, 2u);
        const auto other = std::make_shared<WatchedDevice>();
        const Session on_another_device(other, model);
        EXPECT_EQ(other->buffers, 1u);
    }
    const Session later(device, model);
    EXPECT_EQ(device->buffers, 3u) << "an upload goes with its last session";
}

TEST(Session, ACompletionThatIsReportedTwiceCountsOnce) {
    const auto device = std::make_shared<WatchedDevice>();
    device->says_it_twice = true;
    Session session(device, Model::from_bytes(build(copy_and_softmax())));
    Task task = session.submit(std::vector<float>(60, 1.0f));
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(task.status(), 0);
    EXPECT_EQ(task.completions().size(), 1u);
}

TEST(Session, CompletionsStayWhereTheyAreWhileMoreCome) {
    EmbeddedOptions options;
    options.mode = OVERTAKE_MODE_TIMED;
    options.profile = "ideal";
    options.manual_clock = true;
    const auto device = open_embedded(options);
    ModelSpec spec = copy_and_softmax();
    for (int i = 0; i < 2; i++)
        spec.segments.insert(spec.segments.end(), {spec.segments[0], spec.segments[1]});
    Session session(device, Model::from_bytes(build(spec)));
    Task task = session.submit(std::vector<float>(60, 1.0f));
    const Completion* first = nullptr;
    for (std::size_t ended = 1; ended <= 3; ended++) {
        device->manual_clock()->advance_to(device->manual_clock()->now_ns() + 1'000'000'000);
        EXPECT_EQ(task.poll(), ended == 3);
        ASSERT_EQ(task.completions().size(), ended);
        if (ended == 1)
            first = task.completions().data();
        EXPECT_EQ(task.completions().data(), first);
    }
    EXPECT_EQ(task.status(), 0);
}

TEST(Session, DroppingARunningTaskCancelsItsJob) {
    const auto device = std::make_shared<WatchedDevice>();
    Session session(device, Model::from_bytes(build(copy_and_softmax())));
    {
        const Task dropped = session.submit(std::vector<float>(60, 1.0f));
        EXPECT_EQ(device->cancels, 0u);
    }
    EXPECT_EQ(device->cancels, 1u);
    Task task = session.submit(std::vector<float>(60, 1.0f));
    ASSERT_TRUE(task.wait(patience()));
    task.cancel();
    EXPECT_EQ(device->cancels, 1u) << "one that has ended has nothing to cancel";
    EXPECT_EQ(task.status(), 0);
    task = Task();
    EXPECT_EQ(device->cancels, 1u) << "one that has ended has nothing to cancel";
}

TEST(Session, ARefusedStartKeepsItsReasonUntilTheNextStart) {
    const auto device = std::make_shared<WatchedDevice>();
    Session session(device, Model::from_bytes(build(copy_and_softmax())));
    Task task = session.create_task();
    task.set_input(0, std::vector<float>(60, 1.0f));
    const auto why = [&task]() -> std::string {
        try {
            task.output(0);
            return "there is an output";
        } catch (const Error& error) {
            return error.what();
        }
    };
    device->refuses_next = true;
    EXPECT_EQ(code_of([&] { task.start(); }), ENOSPC);
    EXPECT_EQ(task.status(), -ENOSPC);
    EXPECT_EQ(why(), "task: the device has no room");
    task.start();
    EXPECT_EQ(why(), "task: it is still running; wait() first");
    ASSERT_TRUE(task.wait(patience()));
    EXPECT_EQ(why(), "there is an output");
}

/// Returns the error of a call of an empty task or session; any code except EINVAL fails the test.
std::string refusal_of(const std::function<void()>& action) {
    try {
        action();
        return "accepted";
    } catch (const Error& error) {
        return error.code() == EINVAL ? error.what() : "wrong code: " + std::string(error.what());
    }
}

void expect_empty(Task& task) {
    const std::string reason =
        "task: it is empty; take one from Session::create_task() or submit()";
    EXPECT_EQ(refusal_of([&] { task.set_input(0, {}); }), reason);
    EXPECT_EQ(refusal_of([&] { task.input_buffer(0); }), reason);
    EXPECT_EQ(refusal_of([&] { task.start(); }), reason);
    EXPECT_EQ(refusal_of([&] { task.wait(); }), reason);
    EXPECT_EQ(refusal_of([&] { task.poll(); }), reason);
    EXPECT_EQ(refusal_of([&] { task.cancel(); }), reason);
    EXPECT_EQ(refusal_of([&] { task.output(0); }), reason);
    EXPECT_EQ(refusal_of([&] { task.output_buffer(0); }), reason);
    EXPECT_EQ(task.status(), -EINVAL);
    EXPECT_EQ(task.ended_ns(), 0);
    EXPECT_TRUE(task.completions().empty());
}

/// A device that runs programs of the instruction set before tensors of 16 bits.
class OlderDevice final : public WatchedDevice {
public:
    drm_overtake_device_info info() const override {
        drm_overtake_device_info info = WatchedDevice::info();
        info.isa_version = OVERTAKE_ISA_VERSION_INT16 - 1;
        return info;
    }
};

TEST(Session, ADeviceTooOldForAModelRefusesItBeforeItRuns) {
    const auto device = std::make_shared<OlderDevice>();
    ModelSpec spec = copy_and_softmax();
    spec.isa_version = OVERTAKE_ISA_VERSION_INT16;
    expect_error(ENOTSUP,
                 "model 'test' needs instruction set 1.2, and the device (embedded) runs 1.1",
                 [&] { Session(device, Model::from_bytes(build(spec))); });
    EXPECT_EQ(device->buffers, 0u);
    spec.isa_version = OVERTAKE_ISA_VERSION_INT16 - 1;
    Session session(device, Model::from_bytes(build(spec)));
    EXPECT_GT(device->buffers, 0u);
}

TEST(Session, AnEmptyTaskRefusesEverything) {
    Task task;
    expect_empty(task);
    Session session(open_embedded(), Model::from_bytes(build(copy_and_softmax())));
    task = session.create_task();
    Task other = std::move(task);
    expect_empty(task);
    other.set_input(0, std::vector<float>(60, 1.0f));
    other.start();
    EXPECT_TRUE(other.wait());
    EXPECT_EQ(other.status(), 0);
}

TEST(Session, AMovedFromSessionRefusesEverything) {
    Session session(open_embedded(), Model::from_bytes(build(copy_and_softmax())));
    const Session other = std::move(session);
    EXPECT_EQ(other.model().name(), "test");
    const std::string reason = "session: it is empty, since it was moved from";
    EXPECT_EQ(refusal_of([&] { session.model(); }), reason);
    EXPECT_EQ(refusal_of([&] { session.create_task(); }), reason);
    EXPECT_EQ(refusal_of([&] { session.submit(std::vector<float>(60)); }), reason);
}

} // namespace
} // namespace overtake::test
