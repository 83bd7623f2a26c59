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
    const Model& model;        ///< the model that the unit is a part of
    std::size_t unit;          ///< from 0
    std::uint64_t operations;  ///< multiply-accumulates, other elements; 0 = unknown
    std::uint64_t expected_ns; ///< on CPU workers, by the compiler; 0 = they cannot run it
};

/// A tensor of a call: bytes as Tensor describes them, on the device or in host memory.
struct UnitTensor {
    const Tensor& tensor;       ///< type, shape and layout
    std::span<std::byte> bytes; ///< an input's must not be changed
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
    /// Tensors that the unit reads; they live as long as the call.
    virtual std::span<const UnitTensor> inputs() const noexcept = 0;
    /// Tensors that the unit writes; they live as long as the call.
    virtual std::span<const UnitTensor> outputs() const noexcept = 0;
    /// Computes the unit at once, with the operators of the device.  Returns 0 or a negative errno.
    /// One thread at a time may call it.
    virtual std::int32_t compute() = 0;
    /// Reports the end of the call: 0 if the unit is computed, or a negative errno.  -EIO and
    /// -ENODEV are failures of the processor, any other errno is one of the task.  The first call
    /// counts; later calls do nothing.  Any thread may call it.
    virtual void done(std::int32_t status) noexcept = 0;

protected:
    UnitCall() = default;
};

/// A processor of the program's own.  One thread at a time calls its functions but the destructor:
/// threads that load models call prepare() and release(), the engine's thread for the processor
/// calls the others.  An exception is a failure of the processor; from prepare() it means that the
/// processor cannot run the unit.
///
/// That holds for each engine by itself.  Threads of two engines may call one object at the same
/// time, a registered one that both name, say.  Then the object takes a lock, or each engine has an
/// object of its own (ProcessorOptions::own).
class OVERTAKE_API OwnProcessor {
public:
    virtual ~OwnProcessor();
    /// Prepares a unit while its model is loaded.  Returns 0 and sets expected_ns, the time of the
    /// unit on this processor, at least 1; or returns a negative errno: this processor cannot run
    /// the unit.
    virtual std::int32_t prepare(const UnitDescription& unit, std::uint64_t& expected_ns) = 0;
    /// Begins a call.  The processor calls call->done() at its end, from within start() or later.
    virtual void start(std::shared_ptr<UnitCall> call) = 0;
    /// The engine calls it every poll_ns() while a call is under way, unless poll_ns() is 0.
    virtual void poll(UnitCall& call);
    /// The interval of poll(), in nanoseconds; 0: the engine does not call poll().
    virtual std::uint64_t poll_ns() const { return 0; }
    /// Asks for the end of a call that is not needed any more.  The processor still calls done(),
    /// and soon.
    virtual void cancel(UnitCall& call);
    /// Releases a unit, whose model is about to be freed.
    virtual void release(const UnitDescription& unit);
    /// After a failure: whether the processor works again.
    virtual bool probe();
    /// A call that is not done after this time, in nanoseconds, is a failure of the processor.
    virtual std::uint64_t timeout_ns() const { return 10'000'000'000; }
};

/// Registers `processor` for ProcessorOptions with the class `class_name` and without workers,
/// device and cores, in each engine that is made from now on.  EEXIST if a processor has that name;
/// EINVAL for an empty name or null.  Thread safe.
OVERTAKE_API void register_processor(const std::string& class_name,
                                     std::shared_ptr<OwnProcessor> processor);

} // namespace overtake
