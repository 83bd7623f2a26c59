// SPDX-License-Identifier: MIT
//
// A task of a session that is started again allocates nothing.
//
// The test counts every allocation of the process.  Allocations inside a call of oneDNN belong to
// oneDNN. Those inside a call of an embedded device, and those of other threads, belong to the
// device: it runs in this process.  All others belong to the library.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>

#include "backends.hpp"
#include "model_spec.hpp"
#include "overtake/device.hpp"
#include "overtake/session.hpp"

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

struct Counts {
    std::atomic<std::uint64_t> library, device, onednn;
};

Counts counts;
std::atomic<bool> is_counting = false;
std::atomic<bool> is_in_onednn = false;  ///< also for allocations of oneDNN's threads
thread_local bool is_of_library = false; ///< the library's caller, outside of a device

void count_one() {
    if (!is_counting.load(std::memory_order_relaxed))
        return;
    (is_in_onednn ? counts.onednn : is_of_library ? counts.library : counts.device)++;
}

} // namespace

extern "C" {
void* malloc(std::size_t size) {
    count_one();
    return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    count_one();
    return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
    count_one();
    return __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
    count_one();
    *memory = __libc_memalign(alignment, size);
    return *memory != nullptr ? 0 : ENOMEM;
}

/// All functions of oneDNN that the library calls once its primitives are made, except two that
/// store a pointer.
dnnl_status_t dnnl_sgemm(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k,
                         float alpha, const float* a, dnnl_dim_t lda, const float* b,
                         dnnl_dim_t ldb, float beta, float* c, dnnl_dim_t ldc) {
    static const auto real =
        reinterpret_cast<decltype(&dnnl_sgemm)>(dlsym(RTLD_NEXT, "dnnl_sgemm"));
    is_in_onednn = true;
    const dnnl_status_t status = real(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    is_in_onednn = false;
    return status;
}
dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                     int count, const dnnl_exec_arg_t* arguments) {
    static const auto real = reinterpret_cast<decltype(&dnnl_primitive_execute)>(
        dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
    is_in_onednn = true;
    const dnnl_status_t status = real(primitive, stream, count, arguments);
    is_in_onednn = false;
    return status;
}
}

namespace overtake::test {
namespace {

/// Allocations in a device of this process belong to the device.
class MarkedQueue final : public Queue {
public:
    explicit MarkedQueue(std::unique_ptr<Queue> queue) : queue_(std::move(queue)) {}

    void submit(std::span<const Job> jobs) override {
        is_of_library = false;
        queue_->submit(jobs);
        is_of_library = true;
    }
    std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override {
        is_of_library = false;
        const std::size_t count = queue_->reap(out, deadline_ns);
        is_of_library = true;
        return count;
    }
    bool cancel(std::uint64_t tag) override { return queue_->cancel(tag); }
    std::size_t in_flight() const noexcept override { return queue_->in_flight(); }
    void interrupt() override { queue_->interrupt(); }
    std::uint32_t record(const Job& job, unsigned instances) override {
        return queue_->record(job, instances);
    }
    void replay(std::span<const Replay> replays) override {
        is_of_library = false;
        queue_->replay(replays);
        is_of_library = true;
    }
    void forget(std::uint32_t recording) override { queue_->forget(recording); }

private:
    std::unique_ptr<Queue> queue_;
};

class MarkedDevice final : public Device {
public:
    explicit MarkedDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}

    std::string_view backend() const noexcept override { return device_->backend(); }
    drm_overtake_device_info info() const override { return device_->info(); }
    std::vector<drm_overtake_core_info> cores() const override { return device_->cores(); }
    std::unique_ptr<Buffer> create_buffer(std::size_t bytes) override {
        return device_->create_buffer(bytes);
    }
    std::unique_ptr<Queue> create_queue(const QueueOptions& options) override {
        return std::make_unique<MarkedQueue>(device_->create_queue(options));
    }

private:
    std::shared_ptr<Device> device_;
};

/// Returns the number of runs of the recorded job: $OVERTAKE_TEST_REPLAYS, 100,000 in `make soak`.
int replays() {
    const char* const text = std::getenv("OVERTAKE_TEST_REPLAYS");
    return text ? std::stoi(text) : 10'000;
}

class SessionAllocations : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override {
        device_ = open_backend(GetParam(), {});
        if (device_ && device_->backend() == "embedded")
            device_ = std::make_shared<MarkedDevice>(std::move(device_));
    }

    /// Expects no allocations by inferences of two tasks that are in flight together.  When they
    /// are recorded, the device does not allocate in this process either.
    void expect_none(const std::string& what, const std::shared_ptr<const Model>& model,
                     int inferences = 1000, unsigned record = 0) {
        constexpr int warm_up = 20;
        SessionOptions options;
        options.record = record;
        Session session(device_, model, options);
        std::vector<Task> tasks;
        for (int i = 0; i < 2; i++)
            tasks.push_back(session.create_task());
        std::vector<float> input(model->input(0).elements());
        std::iota(input.begin(), input.end(), 0.0f);
        std::vector<std::vector<float>> outputs;
        for (std::size_t i = 0; i < model->outputs().size(); i++)
            outputs.emplace_back(model->output(i).elements());
        std::int32_t failed = 0;
        const auto infer = [&] {
            for (Task& task : tasks) {
                task.set_input(0, input);
                task.start({.priority = 7});
            }
            for (Task& task : tasks) {
                task.wait();
                failed |= task.status();
                for (std::size_t i = 0; i < outputs.size(); i++)
                    task.output(i, outputs[i]);
            }
        };
        for (int i = 0; i < warm_up; i++)
            infer();
        counts.library = counts.device = counts.onednn = 0;
        is_of_library = is_counting = true;
        for (int i = 0; i < inferences / 2; i++)
            infer();
        is_of_library = is_counting = false;
        EXPECT_EQ(failed, 0);
        std::printf("%s on %s: of %d inferences: %llu allocations of the library, %llu of oneDNN, "
                    "%llu of a device in this process\n",
                    what.c_str(), GetParam().name.c_str(), inferences,
                    static_cast<unsigned long long>(counts.library.load()),
                    static_cast<unsigned long long>(counts.onednn.load()),
                    static_cast<unsigned long long>(counts.device.load()));
        EXPECT_EQ(counts.library, 0u);
        if (record != 0) {
            EXPECT_EQ(counts.device, 0u);
        }
    }

    std::shared_ptr<Device> device_;
};

fbs::CpuOpT operator_of(fbs::CpuOpType type, std::vector<std::uint32_t> inputs,
                        std::uint32_t output, std::vector<std::int64_t> integers = {},
                        std::vector<float> reals = {}) {
    fbs::CpuOpT op;
    op.name = "op";
    op.type = type;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.integers = std::move(integers);
    op.reals = std::move(reals);
    return op;
}

TEST_P(SessionAllocations, AreNoneOfAJobAndASoftmaxBehindIt) {
    SKIP_WITHOUT(device_);
    expect_none("a job, Softmax", Model::from_bytes(build(copy_and_softmax())));
}

TEST_P(SessionAllocations, AreNoneAtAllOfARecordedJob) {
    SKIP_WITHOUT(device_);
    expect_none("a recorded job, Softmax", Model::from_bytes(build(copy_and_softmax())), replays(),
                1);
    ModelSpec spec = copy_and_softmax();
    spec.on_two_cores = true;
    expect_none("a recorded job on two cores, Softmax", Model::from_bytes(build(spec)), 1000, 1);
}

TEST_P(SessionAllocations, AreNoneOfAJobOnTwoCores) {
    SKIP_WITHOUT(device_);
    ModelSpec spec = copy_and_softmax();
    spec.on_two_cores = true;
    expect_none("a job on two cores, Softmax", Model::from_bytes(build(spec)));
}

TEST_P(SessionAllocations, AreNoneOfASoftmaxAndAJobBehindIt) {
    SKIP_WITHOUT(device_);
    expect_none("Softmax, a job", Model::from_bytes(build(softmax_and_copy())));
}

TEST_P(SessionAllocations, AreOnlyThoseOfOneDnnOfAProduct) {
    SKIP_WITHOUT(device_);
    const auto file = unpacked(copy_and_softmax(20, 20, 3));
    *file->segments[1]->cpu->ops[0] =
        operator_of(fbs::CpuOpType::MatrixProduct, {1, 0}, 2); // both are on the device
    expect_none("a job, MatrixProduct", loaded(*file));
}

/// The convolution has one window over everything that the job copied; its weights are on the
/// device, too.
TEST_P(SessionAllocations, AreOnlyThoseOfOneDnnOfAConvolution) {
    SKIP_WITHOUT(device_);
    const auto file = unpacked(copy_and_softmax(20, 20, 3));
    file->tensors[2]->shape = {1, 1, 1, 1};
    file->tensors[2]->bytes = sizeof(float);
    *file->segments[1]->cpu->ops[0] =
        operator_of(fbs::CpuOpType::Convolution, {1, 0}, 2, {0, 1, 1, 1, 1, 1, 0, 0});
    expect_none("a job, Convolution", loaded(*file));
}

/// Operators that need an array of their own.
TEST_P(SessionAllocations, AreNoneOfOperatorsThatSortReduceAndMove) {
    SKIP_WITHOUT(device_);
    using Type = fbs::CpuOpType;
    const auto file = unpacked(copy_and_softmax(4, 4, 3)); // 48 values in [1, 3, 4, 4]
    const std::vector<fbs::CpuOpT> operators = {
        operator_of(Type::Binary, {0, 1}, 2, {0}),
        operator_of(Type::Select, {0, 1, 0}, 2),
        operator_of(Type::View, {1}, 2, {47, -48, -16, -4, -1}),
        operator_of(Type::TopK, {1}, 2, {3, 1, 0}),
        operator_of(Type::Reduce, {1}, 2, {0, 0}),
    };
    for (const fbs::CpuOpT& op : operators) {
        *file->segments[1]->cpu->ops[0] = op;
        expect_none(fbs::EnumNameCpuOpType(op.type), loaded(*file), 100);
    }
}

INSTANTIATE_TEST_SUITE_P(All, SessionAllocations, testing::ValuesIn(all_backends()), backend_name);

} // namespace
} // namespace overtake::test
