// SPDX-License-Identifier: MIT
//
// OwnProcessor: a processor that the program provides, beside cores and CPU workers
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
// overtake/processor.h is the same interface for C.
//
// For each such processor, an engine has a thread that calls start(), poll(), cancel() and probe(),
// so a slow processor delays no other processor.  A call works on copies of the tensors, so a call
// that never ends cannot change a tensor of a task.
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
    std::size_t unit;          ///< number of the unit in its model, from 0
    std::uint64_t operations;  ///< multiply-accumulates, outputs of other nodes; 0 = unknown
    std::uint64_t expected_ns; ///< compiler's estimate on CPU workers; 0 = they cannot run it
};

/// A tensor of a call.  Its bytes have the layout that Tensor describes, for a tensor in device
/// memory or in host memory.
struct UnitTensor {
    const Tensor& tensor;       ///< type, shape and layout
    std::span<std::byte> bytes; ///< the processor must not change those of an input
};

/// One unit of one inference, which the processor computes.  Thread safe, except compute().
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
    /// Computes the unit in the calling thread, with the operators of CPU workers if they can run
    /// it, and otherwise with those of a core.  Returns 0 or a negative errno.  One thread at a
    /// time may call it.
    virtual std::int32_t compute() = 0;
    /// Reports the end of the call: 0 if the unit is computed, or a negative errno.  -EIO and
    /// -ENODEV are failures of the processor, any other errno is a failure of the task.  A status
    /// that is neither 0 nor -1..-4095 counts as -EIO.  Only the first call of done() has an
    /// effect.  Any thread may call it.  A UnitCall that is destroyed before done() ends with -EIO.
    virtual void done(std::int32_t status) noexcept = 0;

protected:
    UnitCall() = default;
};

/// A processor that the program provides.  Threads that load and release models call prepare() and
/// release().  The thread that makes the engine calls poll_ns() and timeout_ns(), once.  The
/// engine's thread for the processor calls start(), poll(), cancel() and probe(), so that only one
/// of these four runs at a time.  prepare() and release() may run while one of the four runs, and
/// release() also while prepare() or another release() runs.  An exception from one of the four is
/// a failure of the processor.  An exception from prepare() means that the processor cannot run the
/// unit.  An exception from release() has no effect.
///
/// These rules hold within one engine.  Threads of two engines may call one object at the same
/// time, for example a registered object that both name.  Then the object takes a lock, or each
/// engine has an object of its own (ProcessorOptions::own).
class OVERTAKE_API OwnProcessor {
public:
    virtual ~OwnProcessor();
    /// Prepares a unit while its model is loaded.  Returns 0 and sets expected_ns, the time of the
    /// unit on this processor, at least 1.  Returns a negative errno if this processor cannot run
    /// the unit.  expected_ns is at first UnitDescription::expected_ns.
    virtual std::int32_t prepare(const UnitDescription& unit, std::uint64_t& expected_ns) = 0;
    /// Begins a call.  The processor calls call->done() at its end, from within start() or later.
    virtual void start(std::shared_ptr<UnitCall> call) = 0;
    /// The engine calls poll() every poll_ns() while a call is under way, unless poll_ns() is 0.
    virtual void poll(UnitCall& call);
    /// The interval of poll(), in nanoseconds; 0: the engine does not call poll().
    virtual std::uint64_t poll_ns() const { return 0; }
    /// Asks for the end of a call that is not needed any more.  The processor still calls done(),
    /// as soon as it can.
    virtual void cancel(UnitCall& call);
    /// Releases a unit that was prepared, before the engine frees its model.
    virtual void release(const UnitDescription& unit);
    /// Returns whether the processor works again.  The engine calls it after a failure.
    virtual bool probe();
    /// The time limit of a call, in nanoseconds.  If a call is not done by then, the processor has
    /// failed.
    virtual std::uint64_t timeout_ns() const { return 10'000'000'000; }
};

/// Registers `processor` for engines that are made from now on.  ProcessorOptions with the class
/// `class_name`, and without workers, device, cores and `own`, refer to it.  EEXIST if a processor
/// of that class is registered already; EINVAL for an empty name or null.  Thread safe.
OVERTAKE_API void register_processor(const std::string& class_name,
                                     std::shared_ptr<OwnProcessor> processor);

} // namespace overtake
