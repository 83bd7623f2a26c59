// SPDX-License-Identifier: MIT
//
// An engine with cores of two devices: how tensors get from one to the other.  Kernel devices of
// one driver share the memory.  The nodes are OVERTAKE_TEST_DEVICE and OVERTAKE_TEST_SECOND_DEVICE.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "backends.hpp"
#include "coordination/coordinated_engine.hpp"
#include "coordination/setup.hpp"
#include "copy_inference.hpp"
#include "kernel/kernel_sharing.hpp"
#include "model_spec.hpp"
#include "overtake/engine.hpp"

namespace overtake::test {
namespace {

using coordination::CoordinatedEngine;
using coordination::CoordinatedModel;
using coordination::UnitInference;

constexpr const char* second_node = "OVERTAKE_TEST_SECOND_DEVICE";

/// Returns segments on cores that copy the input to "copied", one after the other, and softmax on
/// the CPU.
ModelSpec chain_and_softmax() {
    ModelSpec spec = copy_and_softmax();
    SegmentSpec copy = spec.segments.front();
    spec.tensors.push_back(spec.tensors[1]); // between two units
    spec.tensors.back().name = "between";
    spec.segments.front().bindings[1] = fbs::Binding(OVERTAKE_REGION_IO + 1, 3, true);
    copy.bindings[0] = fbs::Binding(OVERTAKE_REGION_IO, 3, false);
    spec.segments.insert(spec.segments.begin() + 1, copy);
    return spec;
}

EngineOptions options_for(const std::shared_ptr<Device>& other, const char* policy = "heft") {
    ProcessorOptions first, second, cpu;
    first.name = "npu";
    second.name = "other";
    second.device = other;
    cpu.name = "cpu";
    cpu.workers = 2;
    EngineOptions options;
    options.policy = policy;
    options.processors = {first, second, cpu};
    return options;
}

/// Limits the files that this process can still open.
class FileLimit {
public:
    explicit FileLimit(rlim_t limit) {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit lower{limit, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &lower);
    }
    ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

struct TwoDevices {
    explicit TwoDevices(const Backend& backend) {
        home = open_backend(backend, {});
        if (!home)
            return;
        if (is_made_here(backend)) {
            other = open_backend(backend, {});
            return;
        }
        const char* node = std::getenv(second_node);
        if (node)
            other = open_kernel(node, backend.name == "ioctl" ? KernelBackend::ioctl
                                                              : KernelBackend::io_uring);
        else
            [] { GTEST_SKIP() << "SKIPPED: " << second_node << " names no device node"; }();
    }

    void start(const char* policy = "heft", const ModelSpec& spec = chain_and_softmax()) {
        const auto of_model = Model::from_bytes(build(spec));
        engine = std::make_unique<CoordinatedEngine>(home, options_for(other, policy));
        model = engine->load(of_model);
    }
    std::shared_ptr<engine::SubmittedTask> submit(std::span<const TensorMemory> in,
                                                  std::span<const TensorMemory> out,
                                                  const char* on = "") const {
        const auto whole = model->make_inference(in, out);
        const engine::TaskSegment segment{nullptr, 0, 0, nullptr, whole.get()};
        engine::RunOptions options;
        options.on = on;
        auto task = engine->make_task({&segment, 1}, options, whole);
        engine->submit_task(task);
        return task;
    }
    std::shared_ptr<engine::SubmittedTask> submit(CopyInference& inference,
                                                  const char* on = "") const {
        const TensorMemory in = dense_floats(inference.in);
        const std::array out = {dense_floats(inference.softmax), dense_floats(inference.copied)};
        return submit({&in, 1}, out, on);
    }

    std::shared_ptr<Device> home, other;
    std::unique_ptr<CoordinatedEngine> engine;
    std::shared_ptr<CoordinatedModel> model;
};

CopyInference expected(float first = 1) {
    CopyInference inference(first);
    Engine engine(open_embedded({}));
    const auto model = engine.load(Model::from_bytes(build(chain_and_softmax())));
    EXPECT_TRUE(inference.submit(engine, model)->wait());
    return inference;
}

class SecondDevice : public testing::TestWithParam<Backend> {
protected:
    /// Returns false if the test is skipped.
    bool open() {
        devices = std::make_unique<TwoDevices>(GetParam());
        return devices->other != nullptr;
    }
    bool shares() const { return !is_made_here(GetParam()); }

    std::unique_ptr<TwoDevices> devices;
};

TEST_P(SecondDevice, KernelDevicesShareTensorsAndOthersCopyThem) {
    if (!open())
        return;
    devices->start();
    const CopyInference wanted = expected();
    for (int round = 0; round < 3; round++)
        for (const char* on : {"npu", "other", "cpu", ""}) {
            CopyInference inference;
            const auto task = devices->submit(inference, on);
            ASSERT_TRUE(task->wait());
            EXPECT_EQ(task->status(), 0) << task->error();
            EXPECT_TRUE(inference == wanted) << on;
        }
    EXPECT_EQ(devices->model->copied_bytes() == 0, shares()) << devices->model->copied_bytes();
}

TEST_P(SecondDevice, ACrossingWithoutACopyHasNoPrice) {
    if (!open())
        return;
    EngineOptions options = options_for(devices->other);
    const coordination::EngineSetup setup = coordination::make_setup(devices->home, options);
    const std::size_t entries = options.processors.size();
    for (std::size_t a = 0; a < entries; a++)
        for (std::size_t b = 0; b < entries; b++) {
            const bool crosses = (a == 1) != (b == 1);
            EXPECT_EQ(setup.coordinator.rates[a * entries + b] != 0, crosses && !shares());
        }
    if (!shares())
        return;
    const FileLimit none_left(0);
    const coordination::EngineSetup copying = coordination::make_setup(devices->home, options);
    EXPECT_NE(copying.coordinator.rates[1], 0u);
}

TEST_P(SecondDevice, ManyRequestsCrossAtATime) {
    if (!open())
        return;
    std::vector<CopyInference> wanted;
    for (int i = 0; i < 4; i++)
        wanted.push_back(expected(static_cast<float>(i)));
    for (const char* policy : {"heft", "shortest-latency", "priority"}) {
        devices->start(policy);
        std::vector<std::thread> threads;
        std::atomic<int> equal = 0, on_other = 0;
        for (unsigned t = 0; t < 4; t++)
            threads.emplace_back([&, t] {
                for (int round = 0; round < 20; round++) {
                    std::vector<CopyInference> inferences(4, CopyInference(static_cast<float>(t)));
                    std::vector<std::shared_ptr<engine::SubmittedTask>> tasks;
                    for (CopyInference& inference : inferences)
                        tasks.push_back(devices->submit(inference, round % 2 ? "other" : ""));
                    for (std::size_t i = 0; i < tasks.size(); i++) {
                        tasks[i]->wait();
                        equal += tasks[i]->status() == 0 && inferences[i] == wanted[t];
                        for (const RunRecord& run : tasks[i]->run_records())
                            on_other += run.processor.starts_with("other");
                    }
                }
            });
        for (std::thread& thread : threads)
            thread.join();
        EXPECT_EQ(equal, 4 * 20 * 4) << policy;
        EXPECT_GT(on_other, 0);
        EXPECT_EQ(devices->model->copied_bytes() == 0, shares());
        devices->model.reset();
        devices->engine.reset();
    }
}

/// Memory of a caller on the home device, in the model's layout.
struct LentCopy {
    LentCopy(Device& device, std::uint64_t in_bytes, std::uint64_t offset)
        : in(device.create_buffer(in_bytes + offset)), out(device.create_buffer(in_bytes)) {
        from.form = to[1].form = TensorForm::device;
        from.data = in->data() + offset;
        from.address = in->address() + offset;
        to[0] = dense_floats(softmax);
        to[1].data = out->data();
        to[1].address = out->address();
        for (std::size_t i = 0; i < in_bytes; i++)
            from.data[i] = static_cast<std::byte>(i % 100);
    }

    std::vector<float> softmax = std::vector<float>(CopyInference::elements);
    std::unique_ptr<Buffer> in, out;
    TensorMemory from;
    std::array<TensorMemory, 2> to;
};

TEST_P(SecondDevice, ACallersBufferIsSharedAsLongAsItLives) {
    if (!open())
        return;
    const ModelSpec spec = chain_and_softmax();
    const std::uint64_t bytes = spec.tensors[0].bytes;
    LentCopy lent(*devices->home, bytes, 0), parts(*devices->home, bytes, 4096);
    const auto run = [&](LentCopy& copy) {
        std::memset(copy.out->data(), 0, bytes);
        const auto task = devices->submit({&copy.from, 1}, copy.to, "other");
        ASSERT_TRUE(task->wait());
        ASSERT_EQ(task->status(), 0) << task->error();
        const std::uint32_t row = spec.tensors[0].width * spec.tensors[0].pixel_stride;
        for (std::uint32_t y = 0; y < spec.tensors[0].height; y++)
            for (std::uint32_t x = 0; x < row; x += spec.tensors[0].pixel_stride) {
                const std::size_t at = y * std::size_t{spec.tensors[0].row_stride} + x;
                ASSERT_EQ(std::memcmp(copy.from.data + at, copy.out->data() + at, 3), 0);
            }
    };
    for (int round = 0; round < 3; round++) {
        devices->start();
        run(lent);
        run(lent);
        EXPECT_EQ(devices->model->copied_bytes() == 0, shares());
        run(parts); // a part of a buffer is copied
        EXPECT_GE(devices->model->copied_bytes(), bytes);
        devices->model.reset();
        devices->engine.reset();
        if (round == 1) // the other device is closed first, then the buffers that it had
            devices->other = TwoDevices(GetParam()).other;
    }
    if (!shares())
        return;
    auto buffer = devices->home->create_buffer(bytes);
    const std::uint64_t address =
        address_on(*devices->other, *devices->home, buffer->address(), bytes);
    EXPECT_EQ(address_on(*devices->other, *devices->home, buffer->address(), bytes), address);
    const std::uint64_t at_home = buffer->address();
    buffer.reset();
    EXPECT_THROW(address_on(*devices->other, *devices->home, at_home, bytes), Error);
    for (int i = 0; i < 4200; i++) { // a file may have 4096 at a time
        const auto one = devices->home->create_buffer(1);
        ASSERT_NO_THROW(address_on(*devices->other, *devices->home, one->address(), 1));
    }
}

TEST_P(SecondDevice, WhereMemoryCannotBeSharedItIsCopied) {
    if (!open() || !shares())
        return;
    devices->start();
    const CopyInference wanted = expected();
    const auto run = [&](CopyInference& inference) {
        const auto task = devices->submit(inference, "other");
        ASSERT_TRUE(task->wait());
        EXPECT_EQ(task->status(), 0) << task->error();
        EXPECT_TRUE(inference == wanted);
    };
    CopyInference first, second, third;
    run(first); // sets up what needs descriptors of its own
    EXPECT_EQ(devices->model->copied_bytes(), 0u);
    std::vector<std::shared_ptr<UnitInference>> taken; // the memory that is shared already
    const TensorMemory in = dense_floats(third.in);
    const std::array out = {dense_floats(third.softmax), dense_floats(third.copied)};
    taken.push_back(devices->model->make_inference({&in, 1}, out));
    {
        const FileLimit none_left(0); // a dma-buf needs a descriptor
        run(second);
    }
    const std::uint64_t copied = devices->model->copied_bytes();
    EXPECT_GT(copied, 0u);
    run(third); // the same memory can be shared now
    EXPECT_EQ(devices->model->copied_bytes(), copied);
}

/// The file has as many buffers as it may have, so there is no room for an import or for a copy.
TEST_P(SecondDevice, WithoutRoomOnItTheOthersRunTheRequest) {
    if (!open() || !shares())
        return;
    devices->start();
    std::vector<std::unique_ptr<Buffer>> all;
    try {
        for (;;)
            all.push_back(devices->other->create_buffer(1));
    } catch (const Error& full) {
        ASSERT_EQ(full.code(), ENOSPC) << full.what();
    }
    const CopyInference wanted = expected();
    CopyInference inference;
    const auto task = devices->submit(inference);
    ASSERT_TRUE(task->wait());
    EXPECT_EQ(task->status(), 0) << task->error();
    EXPECT_TRUE(inference == wanted);
    EXPECT_THROW(devices->submit(inference, "other"), Error);
    // Room for one tensor: that tensor is shared, and the rest does not fit.
    all.pop_back();
    EXPECT_THROW(devices->submit(inference, "other"), Error);
    all.clear();
    const auto later = devices->submit(inference, "other");
    ASSERT_TRUE(later->wait());
    EXPECT_EQ(later->status(), 0) << later->error();
    EXPECT_EQ(devices->model->copied_bytes(), 0u);
}

/// Writes "unbind" or "bind" for one of the driver's devices.
void tell_driver(const char* what, const char* device) {
    std::ofstream file(std::string("/sys/bus/platform/drivers/overtake/") + what);
    file << device << std::flush;
    ASSERT_TRUE(file) << what << ' ' << device;
}

/// Binds the device again until its node has its old name.  It gets another name while references
/// to the former device are left, which are dropped after a moment.
void bring_back(const char* device, const char* node) {
    tell_driver("bind", device);
    for (int i = 0; i < 1000 && access(std::getenv(node), F_OK) != 0; i++) {
        tell_driver("unbind", device);
        usleep(1000);
        tell_driver("bind", device);
    }
    EXPECT_EQ(access(std::getenv(node), F_OK), 0);
}

/// Expects right results of 64 inferences although the device goes meanwhile.
void expect_no_loss_without(TwoDevices& devices, const char* device, const CopyInference& wanted) {
    std::vector<CopyInference> inferences(64);
    std::vector<std::shared_ptr<engine::SubmittedTask>> tasks;
    for (CopyInference& inference : inferences)
        tasks.push_back(devices.submit(inference));
    tell_driver("unbind", device);
    for (std::size_t i = 0; i < tasks.size(); i++) {
        ASSERT_TRUE(tasks[i]->wait());
        EXPECT_EQ(tasks[i]->status(), 0) << tasks[i]->error();
        EXPECT_TRUE(inferences[i] == wanted);
    }
}

/// Runs last, since the device may have another name afterwards.
TEST_P(SecondDevice, ADeviceThatStaysRunsTheWorkOfOneThatGoes) {
    if (!open() || !shares() || geteuid() != 0)
        return;
    const CopyInference wanted = expected();
    devices->start("heft");
    expect_no_loss_without(*devices, "overtake.1", wanted);
    CopyInference later;
    const auto task = devices->submit(later);
    ASSERT_TRUE(task->wait());
    EXPECT_EQ(task->status(), 0) << task->error();
    EXPECT_TRUE(later == wanted);
    devices.reset();
    bring_back("overtake.1", second_node);
}

/// Does the same with the home device, whose buffers the other one has.
TEST_P(SecondDevice, BuffersOfAHomeDeviceThatGoesStayForTheOther) {
    if (!open() || !shares() || geteuid() != 0)
        return;
    const CopyInference wanted = expected();
    devices->start("heft");
    expect_no_loss_without(*devices, "overtake.0", wanted);
    devices.reset();
    bring_back("overtake.0", "OVERTAKE_TEST_DEVICE");
}

INSTANTIATE_TEST_SUITE_P(Backends, SecondDevice, testing::ValuesIn(all_backends()), backend_name);

} // namespace
} // namespace overtake::test
