// SPDX-License-Identifier: MIT
//
// Recording level 2 of sessions and engines: everything is recorded, what cannot be recorded is
// refused, and the model's file is released as soon as the model has no owner.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core_plans.hpp"
#include "cpu_convolution.hpp"
#include "expect_error.hpp"
#include "model_spec.hpp"
#include "network/plan.hpp"
#include "overtake/overtake.hpp"
#include "record_level.hpp"

namespace overtake::test {
namespace {

EngineOptions engine_recorded(unsigned level = 2) {
    EngineOptions options;
    options.record = level;
    return options;
}

std::vector<std::vector<float>> outputs_of(Session& session, const std::vector<float>& input) {
    Task task = session.submit(input);
    EXPECT_TRUE(task.wait());
    std::vector<std::vector<float>> outputs;
    for (std::size_t i = 0; i < session.model().outputs().size(); i++)
        outputs.push_back(task.output(i));
    return outputs;
}

/// A directory of its own, with a model in a file.
class ModelFile {
public:
    explicit ModelFile(std::span<const std::byte> bytes) {
        std::string folder =
            (std::filesystem::temp_directory_path() / "overtake-level-two-XXXXXX").string();
        if (!mkdtemp(folder.data()))
            throw std::runtime_error("no folder for a model");
        folder_ = folder;
        std::ofstream file(path(), std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
    ModelFile(const ModelFile&) = delete;
    ModelFile& operator=(const ModelFile&) = delete;
    ~ModelFile() { std::filesystem::remove_all(folder_); }

    std::string path() const { return folder_ / "network.ovm"; }
    bool is_mapped() const {
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            if (line.find(path()) != std::string::npos)
                return true;
        return false;
    }

private:
    std::filesystem::path folder_;
};

class RecordLevelTwo : public RecordLevelTest {};

TEST_F(RecordLevelTwo, ASegmentIsRecordedInItsFirstRun) {
    Session session(device, model_of(copy_and_softmax()), at_record_level(2));
    Task task = session.create_task();
    for (int i = 0; i < 10; i++)
        run(task, i);
    expect_counts(0, 1, 10);
}

TEST_F(RecordLevelTwo, ResultsAreThoseOfLevelZero) {
    for (const ModelSpec& spec : {copy_and_softmax(), softmax_and_copy()}) {
        Session usual(device, model_of(spec)), strict(device, model_of(spec), at_record_level(2));
        for (int i = 0; i < 3; i++)
            EXPECT_EQ(outputs_of(strict, half_steps(60, i)), outputs_of(usual, half_steps(60, i)));
    }
}

TEST_F(RecordLevelTwo, KernelsHaveTheirConstants) {
    for (const std::size_t axes : {1, 2, 3, 4})
        for (const CpuLayout layout : {CpuLayout::planes, CpuLayout::blocked}) {
            const ModelFile file(convolution_and_sum(axes));
            SessionOptions options;
            options.cpu_layout = layout;
            Session usual(device, Model::from_bytes(convolution_and_sum(axes)), options);
            options.record = 2;
            Session strict(device, Model::load(file.path()), options);
            EXPECT_FALSE(file.is_mapped());
            const std::size_t count = usual.model().input(0).elements();
            for (int i = 0; i < 3; i++)
                EXPECT_EQ(outputs_of(strict, half_steps(count, i)),
                          outputs_of(usual, half_steps(count, i)))
                    << axes << " axes";
        }
}

/// Further tasks of an existing plan make their kernels when the file has been released.
TEST_F(RecordLevelTwo, LaterSessionsOfThePlanNeedNoFile) {
    for (const std::size_t axes : {2, 4}) {
        const ModelFile file(convolution_and_sum(axes));
        Engine engine(device, engine_recorded());
        const auto model = engine.load(Model::load(file.path()));
        EXPECT_FALSE(file.is_mapped());
        Session usual(device, Model::load(file.path()));
        const std::vector<float> in = half_steps(usual.model().input(0).elements(), 3);
        const std::vector<std::vector<float>> wanted = outputs_of(usual, in);
        std::vector<std::vector<float>> got(8, std::vector<float>(wanted[0].size()));
        std::vector<std::shared_ptr<Request>> requests;
        for (std::vector<float>& out : got) { // all in flight at once, so that each has kernels
            TensorMemory from, to;
            from.data = reinterpret_cast<std::byte*>(const_cast<float*>(in.data()));
            to.data = reinterpret_cast<std::byte*>(out.data());
            requests.push_back(engine.create_request());
            requests.back()->add(model, {&from, 1}, {&to, 1});
        }
        for (const auto& request : requests)
            request->submit({});
        for (const auto& request : requests)
            ASSERT_TRUE(request->wait());
        for (const std::vector<float>& out : got)
            EXPECT_EQ(out, wanted[0]);
    }
}

TEST_F(RecordLevelTwo, OnlyConstantsThatKernelsReadAreKept) {
    const auto constants_of = [&](std::size_t axes) {
        const auto model = Model::from_bytes(convolution_and_sum(axes));
        const auto plan = plan_once(device, model, PlanParts::segments, {CpuLayout::planes, 1},
                                    PlanKeeps::running);
        std::vector<std::size_t> sizes;
        for (const Tensor& tensor : plan->tensors())
            if (tensor.is_constant())
                sizes.push_back(tensor.data.size());
        return sizes;
    };
    EXPECT_EQ(constants_of(2), (std::vector<std::size_t>{32}));
    EXPECT_EQ(constants_of(4), (std::vector<std::size_t>{32 * 16 * 81, 32, 32}));
}

TEST_F(RecordLevelTwo, ItsModelHasInputsAndOutputsOnly) {
    ModelSpec spec = softmax_and_copy();
    spec.weights = {1, 2, 3};
    Session session(device, model_of(spec), at_record_level(2));
    const Model& model = session.model();
    EXPECT_EQ(model.name(), "test");
    EXPECT_EQ(model.clock_khz(), 1'000'000u);
    ASSERT_EQ(model.inputs().size(), 1u);
    ASSERT_EQ(model.outputs().size(), 1u);
    EXPECT_EQ(model.input(0).name, "input");
    EXPECT_EQ(model.output(0).name, "copied");
    EXPECT_EQ(model.input(0).shape, (std::vector<std::uint32_t>{1, 4, 5, 3}));
    EXPECT_EQ(model.tensors().size(), 2u);
    EXPECT_TRUE(model.program().empty());
    EXPECT_TRUE(model.weights().empty());
    EXPECT_TRUE(model.file().empty());
    EXPECT_THROW(model.input(1), Error);
}

TEST_F(RecordLevelTwo, TheFileGoesWithTheLastOwnerOfTheModel) {
    ModelSpec spec = copy_and_softmax();
    spec.weights.resize(1 << 20, 7);
    const ModelFile file(build(spec));
    auto model = Model::load(file.path());
    Session session(device, model, at_record_level(2));
    auto other = std::make_unique<Session>(device, model);
    EXPECT_GE(session.given_back_bytes(), spec.weights.size());
    EXPECT_EQ(other->given_back_bytes(), 0u);
    EXPECT_TRUE(file.is_mapped());
    model.reset();
    EXPECT_TRUE(file.is_mapped()) << "a session of level 0 has it";
    other.reset();
    EXPECT_FALSE(file.is_mapped());
    Task task = session.create_task();
    for (int i = 0; i < 3; i++)
        run(task, i);
    EXPECT_EQ(session.model().input(0).name, "input");
}

/// The addresses of a released model may be reused by the next model, whose program and weights
/// differ.
TEST_F(RecordLevelTwo, AModelThatIsLoadedAgainIsItself) {
    std::vector<std::unique_ptr<Session>> sessions;
    for (std::uint8_t i = 0; i < 8; i++) {
        ModelSpec spec = copy_and_softmax();
        spec.weights.resize(1 << 16, i);
        const ModelFile file(build(spec));
        sessions.push_back(
            std::make_unique<Session>(device, Model::load(file.path()), at_record_level(2)));
        EXPECT_FALSE(file.is_mapped());
        EXPECT_EQ(known_weights(), i + 1u);
        EXPECT_EQ(known_plans(), i + 1u);
    }
    for (const auto& session : sessions)
        outputs_of(*session, half_steps(60, 5));
    expect_counts(0, 8, 8);
}

TEST_F(RecordLevelTwo, AModelThatIsLoadedTwiceGivesBackTwice) {
    const ModelFile file(build(copy_and_softmax()));
    Session one(device, Model::load(file.path()), at_record_level(2));
    Session two(device, Model::load(file.path()), at_record_level(2));
    EXPECT_FALSE(file.is_mapped());
    EXPECT_EQ(outputs_of(one, half_steps(60, 1)), outputs_of(two, half_steps(60, 1)));
}

TEST_F(RecordLevelTwo, SessionsOfAModelShareItsPlan) {
    const auto model = model_of(copy_and_softmax());
    Session one(device, model, at_record_level(2)), two(device, model, at_record_level(2));
    EXPECT_EQ(&one.model(), &two.model());
    EXPECT_NE(&one.model(), model.get());
    EXPECT_EQ(outputs_of(one, half_steps(60, 1)), outputs_of(two, half_steps(60, 1)));
}

TEST_F(RecordLevelTwo, ASessionThatNeverRanGoesInAnyOrder) {
    auto model = model_of(copy_and_softmax());
    auto session = std::make_unique<Session>(device, model, at_record_level(2));
    session.reset();
    model.reset();
    model = model_of(copy_and_softmax());
    session = std::make_unique<Session>(device, model, at_record_level(2));
    model.reset();
    session.reset();
    expect_counts(0, 0, 0);
}

TEST_F(RecordLevelTwo, AnotherShapeIsAnErrorAndNoWrongResult) {
    Session session(device, model_of(copy_and_softmax()), at_record_level(2));
    Task task = session.create_task();
    for (int i = 0; i < 3; i++)
        run(task, i);
    expect_error(EINVAL, "input 0 (input): 48 values, but its shape [1, 3, 4, 5] has 60",
                 [&] { task.set_input(0, half_steps(48, 1)); });
    run(task, 4);
}

TEST_F(RecordLevelTwo, MoreTasksAtATimeThanLevelOneRecordsAreRecorded) {
    Session session(device, model_of(copy_and_softmax()), at_record_level(2));
    run_seven_at_a_time(session);
    EXPECT_EQ(device->submitted, 0u);
    EXPECT_EQ(device->replayed, 35u);
}

/// The job's end is known, and the device keeps the recording for another moment.
TEST_F(RecordLevelTwo, ARecordingThatTheDeviceHasLeavesItsPlaceToAnother) {
    Session session(device, model_of(copy_and_softmax()), at_record_level(2));
    Task task = session.create_task();
    run(task, 0);
    device->is_busy_next = true;
    run(task, 1);
    expect_counts(0, 2, 2);
    for (int i = 2; i < 9; i++) { // the other recording is idle each time
        device->is_busy_next = true;
        run(task, i);
    }
    expect_counts(0, 2, 9);
}

/// The caller's arrays are different in each run, and the engine has several tasks at once.
TEST_F(RecordLevelTwo, AnEngineRunsSeveralTasksAtOnce) {
    Engine engine(device, engine_recorded());
    const ModelFile file(build(copy_and_softmax()));
    const auto model = engine.load(Model::load(file.path()));
    EXPECT_FALSE(file.is_mapped());
    EXPECT_GT(model->given_back_bytes(), 0u);
    EXPECT_EQ(model->model().output(1).name, "copied");
    EXPECT_TRUE(model->model().file().empty());
    constexpr int count = 12;
    std::vector<std::vector<float>> in, softmax(count, std::vector<float>(60)),
        copied(count, std::vector<float>(60));
    std::vector<std::shared_ptr<Request>> requests;
    const auto dense = [](std::vector<float>& of) {
        TensorMemory memory;
        memory.data = reinterpret_cast<std::byte*>(of.data());
        return memory;
    };
    for (int i = 0; i < count; i++)
        in.push_back(half_steps(60, i));
    for (int i = 0; i < count; i++) {
        const TensorMemory from = dense(in[i]), to[] = {dense(softmax[i]), dense(copied[i])};
        requests.push_back(engine.create_request());
        requests.back()->add(model, {&from, 1}, to);
        requests.back()->submit({});
    }
    for (int i = 0; i < count; i++) {
        ASSERT_TRUE(requests[i]->wait());
        EXPECT_EQ(requests[i]->status(), 0) << requests[i]->error();
        EXPECT_EQ(copied[i], in[i]);
    }
    EXPECT_EQ(device->submitted, 0u);
    EXPECT_EQ(device->replayed, 12u);
}

/// Returns only the copy, which an engine runs in memory that the caller lends.
ModelSpec copy_alone(const std::string& name) {
    ModelSpec spec = copy_and_softmax(4, 5, 8);
    spec.name = name;
    spec.tensors.pop_back();
    spec.outputs = {1};
    spec.segments.pop_back();
    return spec;
}

TensorMemory lent(Buffer& buffer) {
    TensorMemory memory;
    memory.form = TensorForm::device;
    memory.data = buffer.data();
    memory.address = buffer.address();
    return memory;
}

/// One model's output is the other's input, in buffers that differ in each run.  In half of the
/// runs the callback waits for its request.
TEST_F(RecordLevelTwo, TwoModelsThatShareMemoryAreReplayedInTurns) {
    Engine engine(device, engine_recorded());
    const auto first = engine.load(model_of(copy_alone("first")));
    const auto second = engine.load(model_of(copy_alone("second")));
    const std::size_t bytes = first->model().input(0).bytes;
    std::vector<std::unique_ptr<Buffer>> all;
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 3; k++)
            all.push_back(device->create_buffer(bytes));
        std::memset(all[3 * i]->data(), i + 1, bytes);
        const TensorMemory in = lent(*all[3 * i]), between = lent(*all[3 * i + 1]),
                           out = lent(*all[3 * i + 2]);
        const auto request = engine.create_request();
        request->add(first, {&in, 1}, {&between, 1});
        request->add(second, {&between, 1}, {&out, 1});
        std::promise<int> ended;
        request->on_end([&, i] {
            if (i % 2 == 0)
                request->wait();
            ended.set_value(std::to_integer<int>(all[3 * i + 2]->data()[bytes - 1]));
        });
        request->submit({});
        EXPECT_EQ(ended.get_future().get(), i + 1);
        EXPECT_EQ(request->status(), 0) << request->error();
    }
    for (int i = 0; i < 10; i++) // earlier results stay
        EXPECT_EQ(std::memcmp(all[3 * i]->data(), all[3 * i + 2]->data(), bytes), 0) << i;
    expect_counts(0, 2, 20);
}

TEST_F(RecordLevelTwo, AnOutputIsATransposedView) {
    auto model = unpacked(copy_and_softmax());
    fbs::CpuOpT& op = *model->segments[1]->cpu->ops[0];
    op.type = fbs::CpuOpType::View;
    op.integers = {0, 0, 1, 5, 20};
    model->tensors[2]->shape = {1, 5, 4, 3};
    Session session(device, Model::from_bytes(packed(*model)), at_record_level(2));
    for (int i = 0; i < 3; i++) {
        const std::vector<float> in = half_steps(60, i);
        std::vector<float> wanted;
        for (int x = 0; x < 5; x++)
            for (int y = 0; y < 4; y++)
                for (int c = 0; c < 3; c++)
                    wanted.push_back(in[20 * c + 5 * y + x]);
        EXPECT_EQ(outputs_of(session, in)[0], wanted);
    }
    expect_counts(0, 1, 3);
}

TEST_F(RecordLevelTwo, ATaskOnSeveralCoresIsReplayed) {
    const auto bytes = packed(*with_core_plan());
    Session usual(device, Model::from_bytes(bytes)),
        strict(device, Model::from_bytes(bytes), at_record_level(2));
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(outputs_of(strict, half_steps(60, i)), outputs_of(usual, half_steps(60, i)));
    expect_counts(3, 1, 3);
}

TEST_F(RecordLevelTwo, ModelsAreReplayedInTurnsAndByThreads) {
    const auto model = model_of(copy_and_softmax());
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            Session session(device, model, at_record_level(i % 2 * 2));
            Task task = session.create_task();
            for (int k = 0; k < 5; k++)
                run(task, static_cast<int>(i) * 10 + k);
        });
    for (std::thread& thread : threads)
        thread.join();
    expect_counts(10, 2, 10);
}

TEST_F(RecordLevelTwo, ADeviceThatHasGoneIsAnError) {
    Session session(device, model_of(copy_and_softmax()), at_record_level(2));
    Task task = session.create_task();
    for (int i = 0; i < 5; i++)
        run(task, i);
    device->is_gone = true;
    expect_error(ENODEV, "the device is gone", [&] { task.start(); });
    device->is_gone = false;
    run(task, 9);
}

// Refusals

TEST_F(RecordLevelTwo, WithoutRoomTheSegmentIsNamed) {
    device->refuses_recordings = true;
    Session session(device, model_of(copy_and_softmax()), at_record_level(2));
    Task task = session.create_task();
    constexpr auto text = "record level 2: model 'test', segment 1 of 2: the device has no room "
                          "for recordings; use record level 1";
    expect_error(ENOSPC, text, [&] { task.start(); });
    EXPECT_EQ(task.status(), -ENOSPC);
    expect_counts(0, 0, 0);
    Engine engine(device, engine_recorded());
    const auto model = engine.load(model_of(copy_and_softmax()));
    std::vector<float> in(60), out(60), other(60);
    TensorMemory from, to[2];
    from.data = reinterpret_cast<std::byte*>(in.data());
    to[0].data = reinterpret_cast<std::byte*>(out.data());
    to[1].data = reinterpret_cast<std::byte*>(other.data());
    const auto request = engine.create_request();
    request->add(model, {&from, 1}, to);
    request->submit({});
    ASSERT_TRUE(request->wait());
    EXPECT_EQ(request->status(), -ENOSPC);
    EXPECT_EQ(request->error(), text);
}

/// A device whose driver is older than recordings.
class OldDevice final : public WatchedDevice {
public:
    bool records() const noexcept override { return false; }
};

TEST(RecordLevelTwoRefuses, ADriverWithoutRecordings) {
    const auto device = std::make_shared<OldDevice>();
    constexpr auto text = "record level 2: the driver is older than recordings (version 1.3); use "
                          "record level 1";
    expect_error(ENOTSUP, text,
                 [&] { Session(device, model_of(copy_and_softmax()), at_record_level(2)); });
    expect_error(ENOTSUP, text, [&] { Engine(device, engine_recorded()); });
}

TEST(RecordLevelTwoRefuses, ServiceMode) {
    EngineOptions options = engine_recorded();
    options.service = true;
    expect_error(EINVAL,
                 "record level 2: tasks of service mode are the device's, which records none; use "
                 "record level 1",
                 [&] { Engine(open_embedded(), options); });
}

TEST(RecordLevelTwoRefuses, SeveralProcessors) {
    const std::shared_ptr<Device> device = open_embedded();
    EngineOptions options = engine_recorded();
    options.processors = parse_processors("npu,cpu", device);
    expect_error(EINVAL,
                 "record level 2: with several processors the policy chooses where each unit of a "
                 "model runs; use record level 1",
                 [&] { Engine(device, options); });
}

TEST(RecordLevelTwoRefuses, PicturesWithRowsOfAnotherLength) {
    ModelSpec spec = copy_and_softmax(6, 8, 1);
    for (std::size_t i : {0, 1}) {
        spec.tensors[i].shape = {1, 1, 6, 8};
        spec.tensors[i].pixel_stride = 1;
        spec.tensors[i].row_stride = 8;
        spec.tensors[i].bytes = 48;
        spec.tensors[i].data_type = static_cast<std::uint8_t>(DataType::nv12);
    }
    spec.outputs = {2};
    const std::shared_ptr<Device> device = open_embedded();
    Engine engine(device, engine_recorded());
    const auto model = engine.load(model_of(spec));
    const auto buffer = device->create_buffer(4096);
    std::vector<float> out(48);
    TensorMemory from, to;
    from.form = TensorForm::device;
    from.data = buffer->data();
    from.address = buffer->address();
    from.row_stride = 64;
    to.data = reinterpret_cast<std::byte*>(out.data());
    const auto request = engine.create_request();
    expect_error(EINVAL, "input input: a part of a picture, planes apart or rows of another length",
                 [&] {
                     request->add(model, {&from, 1}, {&to, 1});
                 });
    from.row_stride = 0;
    request->add(model, {&from, 1}, {&to, 1});
}

} // namespace
} // namespace overtake::test
