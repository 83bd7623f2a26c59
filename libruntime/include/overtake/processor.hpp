// SPDX-License-Identifier: MIT
//
// OwnProcessor: a processor of the program's, beside cores and CPU workers
// (docs/use/processors.md).
//
//     struct Gpu : overtake::OwnProcessor {
//         std::int32_t prepare(const overtake::UnitDescription& unit, std::uint64_t& ns) override;
//         void start(std::shared_ptr<overtake::UnitCall> call) override; // and call->done(0) later
//     };
//     overtake::ProcessorOptions gpu;
//     gpu.name = "gpu";
//     gpu.own = std::make_shared<Gpu>();
//
// overtake/processor.h is the same for C.
//
// An engine talks to each of its own processors from a thread for it alone, so one that is slow
// delays no other.  A call works on copies of the tensors, so one that never ends harms no task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "overtake/export.hpp"
#include "overtake/model.hpp"

namespace overtake {

/// A unit of a model.
struct UnitDescription {
    const Model& model;        ///< that the unit is a part of
    std::size_t unit;          ///< from 0
    std::uint64_t operations;  ///< multiply-accumulates, other elements; 0 = unknown
    std::uint64_t expected_ns; ///< on CPU workers, by the compiler; 0 = they cannot run it
};

/// A tensor of a call: bytes as Tensor describes them, on the device or in host memory.
struct UnitTensor {
    const Tensor& tensor;       ///< type, shape and layout
    std::span<std::byte> bytes; ///< of an input not to be changed
};

/// One unit of one inference, to be computed.  Thread safe.
class OVERTAKE_API UnitCall {
public:
    virtual ~UnitCall();
    UnitCall(const UnitCall&) = delete;
    UnitCall& operator=(const UnitCall&) = delete;

    /// The model that the unit is a part of; lives as long as the call.
    virtual const Model& model() const noexcept = 0;
    /// Number of the unit in its model, from 0.
    virtual std::size_t unit() const noexcept = 0;
    /// Tensors that it reads; they live as long as the call.
    virtual std::span<const UnitTensor> inputs() const noexcept = 0;
    /// Tensors that it writes; they live as long as the call.
    virtual std::span<const UnitTensor> outputs() const noexcept = 0;
    /// Computes the unit here and now, with the operators of the device: 0, or a negative errno.
    /// One thread at a time.
    virtual std::int32_t compute() = 0;
    /// The unit is computed, with 0, or has failed: -EIO and -ENODEV are failures of the processor,
    /// any other negative errno is one of the task.  Once; later calls do nothing.  Any thread.
    virtual void done(std::int32_t status) noexcept = 0;

protected:
    UnitCall() = default;
};

/// Its functions but the destructor are called by one thread at a time; prepare() and release() by
/// threads that load models, the others by the engine's thread for it.  What they throw is a
/// failure of the processor; of prepare(), that it cannot run the unit.
///
/// That holds for each engine by itself: one object that is a processor of two engines, as a
/// registered one of which both have its name, is called by threads of both at the same time.  It
/// takes a lock then, or each engine has an object of its own (ProcessorOptions::own).
class OVERTAKE_API OwnProcessor {
public:
    virtual ~OwnProcessor();
    /// A model is loaded.  0, and what the unit takes here, at least 1; or a negative errno: this
    /// processor cannot run it.
    virtual std::int32_t prepare(const UnitDescription& unit, std::uint64_t& expected_ns) = 0;
    /// Begins; call->done() says when it is over, from within start() or later.
    virtual void start(std::shared_ptr<UnitCall> call) = 0;
    /// Called every poll_ns() while a call is under way, unless that is 0.
    virtual void poll(UnitCall& call);
    /// The interval of poll(), in nanoseconds; 0: it is not called.
    virtual std::uint64_t poll_ns() const { return 0; }
    /// The call is not needed any more; done() is to come all the same, and soon.
    virtual void cancel(UnitCall& call);
    /// The model that the unit is of goes.
    virtual void release(const UnitDescription& unit);
    /// After a failure: whether it works again.
    virtual bool probe();
    /// A call that is not done after so long is a failure of the processor.
    virtual std::uint64_t timeout_ns() const { return 10'000'000'000; }
};

/// From now on `class_name` means this processor in ProcessorOptions without workers, device and
/// cores, in each engine that names it.  EEXIST if there is one; EINVAL for an empty name or null.
/// Thread safe.
OVERTAKE_API void register_processor(const std::string& class_name,
                                     std::shared_ptr<OwnProcessor> processor);

} // namespace overtake
