// SPDX-License-Identifier: MIT
//
// Recording level 1 of sessions and engines: a segment is recorded when it runs for the second
// time, and replayed from then on.
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "model_spec.hpp"
#include "overtake/overtake.hpp"
#include "record_level.hpp"

namespace overtake::test {
namespace {

class RecordLevel : public RecordLevelTest {};

TEST_F(RecordLevel, ASegmentIsRecordedInItsSecondRun) {
    Session session(device, model_of(copy_and_softmax()), at_record_level(1));
    Task task = session.create_task();
    run(task, 0);
    expect_counts(1, 0, 0);
    run(task, 1);
    expect_counts(1, 1, 1);
    for (int i = 2; i < 10; i++)
        run(task, i);
    expect_counts(1, 1, 9);
    EXPECT_EQ(task.completions().size(), 1u);
}

TEST_F(RecordLevel, NothingIsRecordedAtLevelZero) {
    Session session(device, model_of(copy_and_softmax()));
    Task task = session.create_task();
    for (int i = 0; i < 3; i++)
        run(task, i);
    expect_counts(3, 0, 0);
}

TEST_F(RecordLevel, OtherCountsOfCpuThreadsAreRefused) {
    for (const unsigned count : {0u, 65u}) {
        SessionOptions options;
        options.cpu_threads = count;
        try {
            Session session(device, model_of(copy_and_softmax()), options);
            FAIL() << count << " threads were taken";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), EINVAL);
            EXPECT_EQ(std::string(error.what()),
                      "CPU threads: " + std::to_string(count) + ", but 1..64 are possible");
        }
    }
}

TEST_F(RecordLevel, OtherLevelsAreRefused) {
    try {
        Session session(device, model_of(copy_and_softmax()), at_record_level(3));
        FAIL() << "level 3 was taken";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EINVAL);
        EXPECT_STREQ(error.what(), "record level 3: 0, 1 and 2 are possible");
    }
    EngineOptions options;
    options.record = 7;
    EXPECT_THROW(Engine(device, options), Error);
}

/// Each task has buffers of its own, and a recording of its own while they are in flight together.
TEST_F(RecordLevel, TasksInFlightTogetherHaveRecordingsOfTheirOwn) {
    Session session(device, model_of(copy_and_softmax()), at_record_level(1));
    run_seven_at_a_time(session);
    EXPECT_LE(device->recorded, 4u);
    EXPECT_EQ(device->submitted + device->replayed, 35u);
    EXPECT_GE(device->replayed, 4u * 4u);
}

TEST_F(RecordLevel, TwoModelsAreReplayedInTurns) {
    Session one(device, model_of(copy_and_softmax()), at_record_level(1));
    Session other(device, model_of(softmax_and_copy()), at_record_level(1));
    Task first = one.create_task(), second = other.create_task();
    second.set_input(0, half_steps(60, 3));
    second.start();
    ASSERT_TRUE(second.wait());
    const std::vector<float> wanted = second.output(0);
    for (int i = 0; i < 10; i++) {
        run(first, i);
        second.start();
        ASSERT_TRUE(second.wait());
        EXPECT_EQ(second.output(0), wanted);
    }
    expect_counts(2, 2, 19);
}

TEST_F(RecordLevel, LevelsAreMixedByThreadsInTurns) {
    const auto model = model_of(copy_and_softmax());
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            Session session(device, model, at_record_level(i % 2));
            Task task = session.create_task();
            for (int k = 0; k < 5; k++)
                run(task, static_cast<int>(i) * 10 + k);
        });
    for (std::thread& thread : threads)
        thread.join();
    expect_counts(12, 2, 8);
}

TEST_F(RecordLevel, ADeviceThatHasGoneIsAnError) {
    Session session(device, model_of(copy_and_softmax()), at_record_level(1));
    Task task = session.create_task();
    for (int i = 0; i < 5; i++)
        run(task, i);
    device->is_gone = true;
    EXPECT_THROW(task.start(), Error);
    EXPECT_EQ(task.status(), -ENODEV);
    device->is_gone = false;
    run(task, 9);
}

TEST_F(RecordLevel, JobsThatCannotBeRecordedAreSubmittedAndLoggedOnce) {
    device->refuses_recordings = true;
    testing::internal::CaptureStderr();
    {
        Session session(device, model_of(copy_and_softmax()), at_record_level(1));
        Task task = session.create_task();
        for (int i = 0; i < 5; i++)
            run(task, i);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "overtake: tasks run without being recorded: the device has no room for "
              "recordings\n");
    expect_counts(5, 0, 0);
}

TEST_F(RecordLevel, ACancelledTaskGivesItsRecordingBack) {
    Session session(device, model_of(copy_and_softmax()), at_record_level(1));
    Task task = session.create_task();
    for (int i = 0; i < 20; i++) {
        task.set_input(0, half_steps(60, i));
        task.start();
        task.cancel();
        ASSERT_TRUE(task.wait());
    }
    run(task, 1);
    EXPECT_LE(device->recorded, 1u);
    EXPECT_EQ(device->submitted, 1u);
}

/// Memory that the caller lends, used in place, different in each run.
TEST_F(RecordLevel, OtherInputAndOutputBuffersInEachRun) {
    EngineOptions options;
    options.record = 1;
    Engine engine(device, options);
    ModelSpec spec = copy_and_softmax(4, 5, 8);
    spec.tensors.pop_back();
    spec.outputs = {1};
    spec.segments.pop_back();
    const auto model = engine.load(model_of(spec));
    const Tensor tensor = model->model().input(0);
    constexpr int runs = 6;
    std::vector<std::unique_ptr<Buffer>> ins, outs;
    for (int i = 0; i < runs; i++) {
        ins.push_back(device->create_buffer(tensor.bytes));
        outs.push_back(device->create_buffer(tensor.bytes));
        std::memset(ins[i]->data(), i + 1, tensor.bytes);
    }
    const auto lent = [](Buffer& buffer) {
        TensorMemory memory;
        memory.form = TensorForm::device;
        memory.data = buffer.data();
        memory.address = buffer.address();
        return memory;
    };
    for (int i = 0; i < runs; i++) {
        const TensorMemory from = lent(*ins[i]), to = lent(*outs[i]);
        const auto request = engine.create_request();
        request->add(model, {&from, 1}, {&to, 1});
        request->submit({});
        ASSERT_TRUE(request->wait());
        ASSERT_EQ(request->status(), 0);
    }
    for (int i = 0; i < runs; i++)
        EXPECT_EQ(std::memcmp(ins[i]->data(), outs[i]->data(), tensor.bytes), 0) << i;
    expect_counts(1, 1, runs - 1);
}

/// Recordings of unloaded models are forgotten when another model comes.
TEST_F(RecordLevel, ModelsThatAreUnloadedAreForgotten) {
    EngineOptions options;
    options.record = 1;
    Engine engine(device, options);
    std::vector<float> in = half_steps(60, 1), softmax(60), copied(60);
    const auto dense = [](std::vector<float>& of) {
        TensorMemory memory;
        memory.element = Element::float32;
        memory.data = reinterpret_cast<std::byte*>(of.data());
        return memory;
    };
    const TensorMemory from = dense(in);
    const TensorMemory to[] = {dense(softmax), dense(copied)};
    for (unsigned i = 0; i < 5; i++) {
        const auto model = engine.load(model_of(copy_and_softmax()));
        for (int k = 0; k < 3; k++) {
            const auto request = engine.create_request();
            request->add(model, {&from, 1}, to);
            request->submit({});
            ASSERT_TRUE(request->wait());
            ASSERT_EQ(request->status(), 0);
            EXPECT_EQ(copied, in);
        }
        EXPECT_EQ(device->recorded, i + 1);
        EXPECT_GE(device->forgotten + 1, i);
    }
    EXPECT_EQ(device->submitted, 5u);
    EXPECT_EQ(device->replayed, 10u);
}

} // namespace
} // namespace overtake::test
