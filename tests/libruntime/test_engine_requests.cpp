// SPDX-License-Identifier: MIT
//
// The public Engine: requests, their reports, and the forms of their tensors.
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <future>
#include <latch>
#include <limits>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "model_spec.hpp"
#include "overtake/engine.hpp"
#include "overtake/error.hpp"
#include "programs.hpp"
#include "watched_device.hpp"

namespace overtake::test {
namespace {

std::shared_ptr<LoadedModel> load(Engine& engine, const ModelSpec& spec) {
    return engine.load(Model::from_bytes(build(spec)));
}

template <class Number>
TensorMemory dense(std::vector<Number>& values, Element element) {
    TensorMemory memory;
    memory.element = element;
    memory.data = reinterpret_cast<std::byte*>(values.data());
    return memory;
}

TensorMemory packed(std::vector<std::uint8_t>& bytes) {
    TensorMemory memory;
    memory.form = TensorForm::packed;
    memory.data = reinterpret_cast<std::byte*>(bytes.data());
    return memory;
}

/// Returns a model with one BPU segment that copies a tensor of 4 x 5 x 3 to another of its kind.
ModelSpec copying(std::uint8_t data_type) {
    ModelSpec spec = copy_and_softmax();
    spec.tensors.pop_back();
    spec.outputs = {1};
    spec.segments.pop_back();
    for (TensorSpec& tensor : spec.tensors) {
        tensor.data_type = data_type;
        tensor.scale = 1;
        tensor.zero_point = data_type == 4 ? -128 : 0;
    }
    return spec;
}

constexpr std::size_t elements = 4 * 5 * 3;

/// Returns the status of one inference of a model with one input and one output.
std::int32_t status_of(Engine& engine, const std::shared_ptr<LoadedModel>& model,
                       const TensorMemory& from, const TensorMemory& to) {
    const auto request = engine.create_request();
    request->add(model, {&from, 1}, {&to, 1});
    request->submit({});
    request->wait();
    return request->status();
}

TEST(EngineRequests, BytesOfEitherSignPassThroughAsTheyAre) {
    Engine engine(open_embedded({}));
    for (const auto& [type, element] : {std::pair(2, Element::int8), {4, Element::uint8}}) {
        const auto model = load(engine, copying(static_cast<std::uint8_t>(type)));
        std::vector<std::uint8_t> in(elements), out(elements), out_packed(elements);
        std::iota(in.begin(), in.end(), std::uint8_t{100}); // from 128 on, int8 is negative
        const auto run = [&](const TensorMemory& from, const TensorMemory& to) {
            return status_of(engine, model, from, to);
        };
        EXPECT_EQ(run(dense(in, element), dense(out, element)), 0);
        EXPECT_EQ(out, in);
        EXPECT_EQ(run(packed(in), packed(out_packed)), 0);
        // Packed elements are in pixels at both ends, so their order stays.
        std::vector<std::uint8_t> sorted_in = in, sorted_out = out_packed;
        EXPECT_EQ(sorted_out, sorted_in);

        const Element other = element == Element::int8 ? Element::uint8 : Element::int8;
        for (const Element wrong : {other, Element::int32, Element::int64})
            try {
                std::vector<std::int64_t> wide(elements);
                const TensorMemory memory = dense(wide, wrong);
                const TensorMemory to = packed(out);
                engine.create_request()->add(model, {&memory, 1}, {&to, 1});
                FAIL() << "elements of another kind were taken";
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), EINVAL);
            }
    }
}

/// Returns `copying` with elements of 16 bits.
ModelSpec copying_words() {
    ModelSpec spec = copying(1);
    for (TensorSpec& tensor : spec.tensors) {
        tensor.is_int16 = true;
        tensor.pixel_stride *= 2;
        tensor.row_stride *= 2;
        tensor.bytes *= 2;
    }
    for (overtake_insn& insn : spec.program)
        for (overtake_operand* operand : {&insn.out, &insn.in[0]}) {
            operand->type = OVERTAKE_TYPE_INT16;
            operand->offset *= 2;
            operand->pixel_stride *= 2;
            operand->row_stride *= 2;
        }
    return spec;
}

TEST(EngineRequests, WordsPassThroughPackedAndAsNumbers) {
    Engine engine(open_embedded({}));
    const auto model = load(engine, copying_words());
    std::vector<std::uint8_t> in(2 * elements), out(2 * elements);
    std::iota(in.begin(), in.end(), std::uint8_t{77});
    std::vector<float> numbers(elements), copied(elements);
    std::iota(numbers.begin(), numbers.end(), -20000.0f);
    const auto run = [&](const TensorMemory& from, const TensorMemory& to) {
        return status_of(engine, model, from, to);
    };
    EXPECT_EQ(run(packed(in), packed(out)), 0);
    EXPECT_EQ(out, in);
    EXPECT_EQ(run(dense(numbers, Element::float32), dense(copied, Element::float32)), 0);
    EXPECT_EQ(copied, numbers);
}

TEST(EngineRequests, ARequestReportsItsSegments) {
    Engine engine(open_embedded({}));
    const auto model = load(engine, copy_and_softmax());
    std::vector<float> in(elements), softmax(elements), copied(elements);
    const TensorMemory from = dense(in, Element::float32);
    const std::array to = {dense(softmax, Element::float32), dense(copied, Element::float32)};
    const auto request = engine.create_request();
    EXPECT_EQ(request->status(), -EINVAL);
    EXPECT_TRUE(request->segments().empty());
    request->add(model, {&from, 1}, to);
    request->submit({});
    ASSERT_TRUE(request->wait());
    const std::vector<SegmentRecord> segments = request->segments();
    ASSERT_EQ(segments.size(), 3u); // the device cannot reach the input
    EXPECT_FALSE(segments[0].on_bpu);
    EXPECT_TRUE(segments[1].on_bpu);
    EXPECT_EQ(segments[1].job.status, 0);
    EXPECT_FALSE(segments[2].on_bpu);
    std::uint64_t before = request->dispatched_ns();
    EXPECT_NE(before, 0u);
    for (const SegmentRecord& segment : segments) {
        EXPECT_GE(segment.start_ns, before);
        EXPECT_GE(segment.end_ns, segment.start_ns);
        before = segment.end_ns;
    }
    EXPECT_GE(request->ended_ns(), before);
    EXPECT_GE(request->core(), 1u);
    try {
        request->submit({});
        FAIL() << "a request was submitted twice";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), EBUSY);
    }
}

/// A gate at which a worker waits.
class Gate {
public:
    std::int32_t pass() {
        std::unique_lock lock(mutex_);
        waiting_++;
        changed_.notify_all();
        changed_.wait(lock, [&] { return open_; });
        return 0;
    }
    void wait_for(int count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_ >= count; });
    }
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int waiting_ = 0;
    bool open_ = false;
};

TEST(EngineRequests, GoToCoresOfTheModelsProfileUnlessTheyNameOne) {
    for (const auto& [profiles, cores] :
         {std::pair(std::vector<std::string>{"ideal", "default", "ideal"}, 0b010u),
          {{"default", "ideal", "default"}, 0b101u}}) {
        EmbeddedOptions device;
        device.cores = 3;
        device.profiles = profiles;
        Engine engine(open_embedded(device));
        const auto model = load(engine, copying(2));
        std::vector<std::uint8_t> in(elements), out(elements);
        const TensorMemory from = dense(in, Element::int8), to = dense(out, Element::int8);
        const auto core_of = [&](unsigned core, unsigned priority) {
            const auto request = engine.create_request();
            request->add(model, {&from, 1}, {&to, 1});
            request->submit({.priority = priority, .core = core});
            request->wait();
            EXPECT_EQ(request->status(), 0);
            unsigned taken = 0;
            for (const SegmentRecord& segment : request->segments())
                taken = segment.on_bpu ? segment.job.core : taken;
            return taken;
        };
        for (unsigned round = 0; round < 4; round++)
            EXPECT_NE(cores >> (core_of(core_any, round) - 1) & 1, 0u);
        for (unsigned core = 1; core <= 3; core++)
            EXPECT_EQ(core_of(core, 0), core);
    }
}

TEST(EngineRequests, ARequestThatIsNotKeptIsCancelled) {
    EngineOptions options;
    options.workers = 1;
    Engine engine(open_embedded({}), options);
    Gate gate;
    const auto first = engine.create_request();
    first->add([&] { return gate.pass(); });
    first->submit({});
    gate.wait_for(1);
    std::atomic<bool> ran{false};
    std::promise<void> ended;
    auto second = engine.create_request();
    second->add([&] {
        ran = true;
        return 0;
    });
    second->on_end([&] { ended.set_value(); });
    second->submit({});
    second.reset();
    ended.get_future().wait();
    EXPECT_FALSE(ran);
    gate.open();
    EXPECT_TRUE(first->wait());
    EXPECT_EQ(first->status(), 0);
}

TEST(EngineRequests, ThereAreAsManyWorkersAsTheOptionsSay) {
    EngineOptions options;
    options.workers = 2;
    options.task_limit = 8;
    Engine engine(open_embedded({}), options);
    Gate gate;
    std::atomic<int> under_way{0}, most{0};
    std::vector<std::shared_ptr<Request>> requests;
    for (int i = 0; i < 6; i++) {
        requests.push_back(engine.create_request());
        requests.back()->add([&] {
            const int now = ++under_way;
            for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
            }
            gate.pass();
            under_way--;
            return 0;
        });
        requests.back()->submit({});
    }
    gate.wait_for(2);
    gate.open();
    for (const auto& request : requests) {
        request->wait();
        EXPECT_EQ(request->status(), 0);
    }
    EXPECT_EQ(most, 2);
}

TEST(EngineRequests, AJobThatTheDeviceRefusesEndsItsTaskAlone) {
    const auto device = std::make_shared<WatchedDevice>();
    Engine engine(device);
    const auto model = load(engine, copying(2));
    std::vector<std::uint8_t> in(elements), out(elements);
    const TensorMemory from = packed(in), to = packed(out);
    for (const int status : {-ENOSPC, 0}) {
        device->refuses_next = status != 0;
        const auto request = engine.create_request();
        request->add(model, {&from, 1}, {&to, 1});
        request->submit({});
        request->wait();
        EXPECT_EQ(request->status(), status);
        EXPECT_EQ(request->error(), status == 0 ? "" : "the device has no room");
    }
}

TEST(EngineRequests, AnExceptionOfAComputationEndsItsTask) {
    Engine engine(open_embedded({}));
    const auto request = engine.create_request();
    request->add([]() -> std::int32_t { throw std::runtime_error("out of paper"); });
    request->submit({});
    request->wait();
    EXPECT_EQ(request->status(), -EIO);
    EXPECT_EQ(request->error(), "out of paper");
}

TEST(EngineRequests, DeadlinesDecideUnderThePolicyDeadline) {
    EmbeddedOptions embedded;
    embedded.cores = 1;
    embedded.mode = OVERTAKE_MODE_TIMED;
    embedded.profile = "ideal";
    embedded.manual_clock = true;
    const auto device = open_embedded(embedded);
    EngineOptions options;
    options.policy = "deadline";
    options.task_limit = 1;
    Engine engine(device, options);
    ModelSpec spec = copying(2);
    spec.program = {delay_insn(1000)};
    spec.segments[0].fcs = {fbs::Fc(0, 1, 1000)};
    const auto model = load(engine, spec);
    const auto in = device->create_buffer(4096), out = device->create_buffer(4096);
    const auto lent = [](const Buffer& buffer) {
        TensorMemory memory;
        memory.form = TensorForm::device;
        memory.data = buffer.data();
        memory.address = buffer.address();
        return memory;
    };
    const TensorMemory from = lent(*in), to = lent(*out);
    std::latch first_runs(1), all_wait(1);
    std::vector<std::shared_ptr<Request>> requests;
    for (const std::int64_t deadline : {0, 900'000, 700'000, 800'000}) {
        requests.push_back(engine.create_request());
        Request& request = *requests.back();
        if (requests.size() == 1)
            request.add([&]() -> std::int32_t {
                first_runs.count_down();
                all_wait.wait();
                return 0;
            });
        request.add(model, {&from, 1}, {&to, 1});
        TaskOptions task;
        task.deadline_ns = deadline;
        request.submit(task);
        first_runs.wait();
    }
    all_wait.count_down();
    std::uint64_t now = device->manual_clock()->now_ns();
    for (const auto& request : requests)
        while (request->status() == -EINPROGRESS)
            device->manual_clock()->advance_to(++now);
    EXPECT_LT(requests[2]->dispatched_ns(), requests[3]->dispatched_ns());
    EXPECT_LT(requests[3]->dispatched_ns(), requests[1]->dispatched_ns());
    EXPECT_EQ(requests[0]->status(), 0);
}

} // namespace
} // namespace overtake::test
