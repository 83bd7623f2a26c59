// SPDX-License-Identifier: MIT
//
// Inference: an execution in the memory that a request lends, and copies of the tensors that cannot
// be lent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/picture_program.hpp"
#include "network/execution.hpp"
#include "network/host_core.hpp"
#include "overtake/engine.hpp"

namespace overtake::engine {

/// The memory that one inference at a time works in, beside the memory that its caller lends it.
struct ExecutionMemory {
    ExecutionMemory(const std::shared_ptr<const Plan>& plan, std::vector<bool> lent_,
                    std::unique_ptr<CpuSegments> cpu_)
        : workspace(*plan, lent_), cpu(std::move(cpu_)), lent(std::move(lent_)) {}

    Workspace workspace;
    std::unique_ptr<CpuSegments> cpu;
    std::vector<bool> lent; ///< by tensor number: the caller lends it
};

/// The segments of an inference are the plan's segments and two segments on the CPU that only copy:
/// one before a first segment on the BPU, and one after a last segment on the BPU.  A first or last
/// segment on the CPU copies by itself.  In a plan of units only these two segments copy.  One
/// thread at a time uses it, except for execute().
class Inference final : public SegmentWork {
public:
    explicit Inference(std::shared_ptr<const Plan> plan);

    const Plan& plan() const noexcept { return execution_.plan(); }

    /// Takes the caller's memory, until clear().  Called first.  Throws Error EINVAL, naming the
    /// tensor, for memory that does not fit it.
    void lend(std::span<const TensorMemory> inputs, std::span<const TensorMemory> outputs);
    /// The tensors that the caller lends, by number.
    const std::vector<bool>& lent() const noexcept { return lent_; }
    /// Takes the memory for the other tensors, made for the same `lent`.  Throws Error ENOSPC or
    /// ENOMEM, or EINVAL for pictures for which there are no regions.
    void use(std::shared_ptr<ExecutionMemory> memory, PicturePrograms& pictures);
    /// Releases all memory.
    void clear() noexcept;

    bool fills() const noexcept { return !to_fill_.empty(); }
    bool drains() const noexcept { return !to_drain_.empty(); }
    /// The numbers of the segments that only copy.
    std::size_t fill_segment() const noexcept { return plan().segments().size(); }
    std::size_t drain_segment() const noexcept { return plan().segments().size() + 1; }

    void describe(std::size_t segment, Job& job) const override;
    void describe_group(std::size_t segment, std::span<const unsigned> cores, Job& job) override {
        execution_.describe_group(segment, cores, job);
    }
    std::uint64_t alone_ns() const override { return execution_.alone_ns(); }
    std::size_t fixed_bindings(std::size_t segment) const override {
        // Pictures that lie in another way have another program.
        return picture_program_ ? 0 : execution_.fixed_bindings(segment);
    }
    std::shared_ptr<const void> owner() const override { return execution_.owner(); }
    std::string name_of(std::size_t segment) const override { return execution_.name_of(segment); }
    std::int32_t compute(std::size_t segment) override;
    /// Runs a BPU segment on the calling thread.  Returns the status of HostCore::execute().
    std::int32_t execute(std::size_t segment, HostCore& core) const;
    /// The places of the tensors by number, since use().
    std::span<const TensorPlace> places() const noexcept { return execution_.places(); }
    /// Whether a picture is bound in a layout of the caller's; other devices cannot copy such a
    /// picture.
    bool has_pictures() const noexcept { return !layouts_.empty(); }

private:
    struct Transfer {
        std::uint32_t tensor;
        TensorMemory memory;
    };

    void lend(std::span<const std::uint32_t> numbers, std::span<const TensorMemory> memory,
              const char* kind, std::vector<Transfer>& transfers, PictureLayouts* layouts);
    void use_pictures(PicturePrograms& pictures);
    void bind_pictures(const PicturePrograms& pictures, std::size_t segment);
    void fill_inputs() const;
    void drain_outputs() const;

    Execution execution_;
    std::shared_ptr<ExecutionMemory> memory_;
    std::vector<bool> lent_;
    std::vector<LentTensor> lent_tensors_;
    std::vector<Transfer> to_fill_;
    std::vector<Transfer> to_drain_;
    PictureLayouts layouts_;
    std::shared_ptr<Buffer> picture_program_; ///< null: the plan's program
};

/// Idle inferences and their memory, for the next requests.  Thread safe.
class InferencePool : public std::enable_shared_from_this<InferencePool> {
public:
    /// Makes the first kernels, so that a kernel which cannot be made is found now.
    explicit InferencePool(std::shared_ptr<const Plan> plan);

    /// Return an idle object or a new one, which comes back here when it is released.  Throw Error
    /// ENOSPC or ENOMEM.
    std::shared_ptr<Inference> take();
    std::shared_ptr<ExecutionMemory> take_memory(const std::vector<bool>& lent);

private:
    using IdleMemory = std::vector<std::unique_ptr<ExecutionMemory>>;

    std::unique_ptr<Inference> idle_or_new();
    std::unique_ptr<ExecutionMemory> idle_or_new(const std::vector<bool>& lent);
    void give_back(std::unique_ptr<Inference> inference) noexcept;
    void give_back(std::unique_ptr<ExecutionMemory> memory) noexcept;
    template <class Thing>
    std::shared_ptr<Thing> returning(std::unique_ptr<Thing> thing);

    const std::shared_ptr<const Plan> plan_;
    std::mutex mutex_;
    std::unique_ptr<CpuSegments> first_cpu_; ///< kept for the first memory
    std::vector<std::unique_ptr<Inference>> inferences_;
    std::map<std::vector<bool>, IdleMemory> memory_; ///< by the lent tensors
};

} // namespace overtake::engine
