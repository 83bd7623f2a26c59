// SPDX-License-Identifier: MIT
//
// The C interface of the program's own processors.
#include "overtake/processor.h"

#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "last_error.hpp"
#include "overtake/error.hpp"
#include "overtake/processor.hpp"

namespace overtake {

class CProcessor;

} // namespace overtake

/// A call; it refers to no UnitCall once that is done.
struct overtake_unit_call {
    overtake::CProcessor* processor;
    std::mutex mutex;
    std::shared_ptr<overtake::UnitCall> call;

    std::shared_ptr<overtake::UnitCall> get() {
        const std::lock_guard lock(mutex);
        return call;
    }
};

namespace overtake {

class CProcessor final : public OwnProcessor {
public:
    CProcessor(const overtake_processor_functions& functions, void* context)
        : functions_(functions), context_(context) {}

    std::int32_t prepare(const UnitDescription& unit, std::uint64_t& expected_ns) override {
        const std::string model(unit.model.name());
        const overtake_unit of = {model.c_str(), unit.unit, unit.operations, unit.expected_ns};
        return functions_.prepare(context_, &of, &expected_ns);
    }
    void start(std::shared_ptr<UnitCall> call) override {
        auto handle = std::make_shared<overtake_unit_call>();
        handle->processor = this;
        handle->call = call;
        {
            const std::lock_guard lock(mutex_);
            handles_[call.get()] = handle;
        }
        functions_.start(context_, handle.get());
    }
    void poll(UnitCall& call) override { with_handle(call, functions_.poll); }
    std::uint64_t poll_ns() const override { return functions_.poll ? functions_.poll_ns : 0; }
    void cancel(UnitCall& call) override { with_handle(call, functions_.cancel); }
    void release(const UnitDescription& unit) override {
        if (!functions_.release)
            return;
        const std::string model(unit.model.name());
        const overtake_unit of = {model.c_str(), unit.unit, unit.operations, unit.expected_ns};
        functions_.release(context_, &of);
    }
    bool probe() override { return !functions_.probe || functions_.probe(context_) == 0; }
    std::uint64_t timeout_ns() const override {
        return functions_.timeout_ns != 0 ? functions_.timeout_ns : OwnProcessor::timeout_ns();
    }

    void done(overtake_unit_call& handle, int status) noexcept {
        std::shared_ptr<UnitCall> call;
        {
            const std::lock_guard lock(handle.mutex);
            call.swap(handle.call);
        }
        if (!call)
            return; // done() was called twice
        {
            const std::lock_guard lock(mutex_);
            const auto known = handles_.find(call.get());
            last_done_ = std::move(known->second);
            handles_.erase(known);
        }
        call->done(status);
    }

private:
    void with_handle(UnitCall& call, void (*function)(void*, overtake_unit_call*)) {
        std::shared_ptr<overtake_unit_call> handle;
        {
            const std::lock_guard lock(mutex_);
            const auto known = handles_.find(&call);
            if (known != handles_.end())
                handle = known->second;
        }
        if (handle && function) // else another thread has just called done()
            function(context_, handle.get());
    }

    const overtake_processor_functions functions_;
    void* const context_;
    std::mutex mutex_;
    std::map<UnitCall*, std::shared_ptr<overtake_unit_call>> handles_; ///< of calls under way
    /// The handle of the last call that was done, so that a second done() in a row finds no call.
    std::shared_ptr<overtake_unit_call> last_done_;
};

namespace {

int describe_unit_tensor(std::span<const UnitTensor> tensors, std::size_t index,
                         overtake_unit_tensor* to) {
    if (index >= tensors.size() || !to)
        return -EINVAL;
    const Tensor& tensor = tensors[index].tensor;
    if (tensor.is_int16) // the struct has no field for it
        return -ENOTSUP;
    const std::span<std::byte> bytes = tensors[index].bytes;
    *to = {bytes.data(),        bytes.size(),        tensor.name.data(),  tensor.name.size(),
           tensor.shape.data(), tensor.shape.size(), tensor.height,       tensor.width,
           tensor.channels,     tensor.row_stride,   tensor.pixel_stride, tensor.scale,
           tensor.zero_point};
    return 0;
}

} // namespace

} // namespace overtake

extern "C" {

int overtake_register_processor(const char* class_name,
                                const struct overtake_processor_functions* functions,
                                void* context) {
    return overtake::result_in_c([&] {
        if (!class_name || !functions || !functions->prepare || !functions->start)
            throw overtake::Error(EINVAL,
                                  "processor: it needs the name of a class, prepare() and start()");
        overtake::register_processor(class_name,
                                     std::make_shared<overtake::CProcessor>(*functions, context));
    });
}

size_t overtake_unit_call_unit(struct overtake_unit_call* call) {
    const std::shared_ptr<overtake::UnitCall> of = call->get();
    return of ? of->unit() : 0;
}

size_t overtake_unit_call_input_count(struct overtake_unit_call* call) {
    const std::shared_ptr<overtake::UnitCall> of = call->get();
    return of ? of->inputs().size() : 0;
}

size_t overtake_unit_call_output_count(struct overtake_unit_call* call) {
    const std::shared_ptr<overtake::UnitCall> of = call->get();
    return of ? of->outputs().size() : 0;
}

int overtake_unit_call_input(struct overtake_unit_call* call, size_t index,
                             struct overtake_unit_tensor* tensor) {
    const std::shared_ptr<overtake::UnitCall> of = call->get();
    return of ? overtake::describe_unit_tensor(of->inputs(), index, tensor) : -EINVAL;
}

int overtake_unit_call_output(struct overtake_unit_call* call, size_t index,
                              struct overtake_unit_tensor* tensor) {
    const std::shared_ptr<overtake::UnitCall> of = call->get();
    return of ? overtake::describe_unit_tensor(of->outputs(), index, tensor) : -EINVAL;
}

int overtake_unit_call_compute(struct overtake_unit_call* call) {
    const std::shared_ptr<overtake::UnitCall> of = call->get();
    return of ? of->compute() : -EINVAL;
}

void overtake_unit_call_done(struct overtake_unit_call* call, int status) {
    call->processor->done(*call, status);
}

} // extern "C"
