// SPDX-License-Identifier: MIT
//
// Inference: an execution in the memory that a request lends, and copies of what cannot be lent.
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

/// What one inference at a time works in, beside the memory that its caller lends it.
struct ExecutionMemory {
    ExecutionMemory(const std::shared_ptr<const Plan>& plan, std::vector<bool> lent_,
                    std::unique_ptr<CpuSegments> cpu_)
        : workspace(*plan, lent_), cpu(std::move(cpu_)), lent(std::move(lent_)) {}

    Workspace workspace;
    std::unique_ptr<CpuSegments> cpu;
    std::vector<bool> lent; ///< by tensor number
};

/// Its segments are those of the plan, and two on the CPU that only copy: one in front of a first
/// segment and one behind a last segment that are on the BPU.  On the CPU these copy themselves.
/// Of a plan of units these two are the only ones that copy.
/// One thread at a time, but for execute().
class Inference final : public SegmentWork {
public:
    explicit Inference(std::shared_ptr<const Plan> plan);

    const Plan& plan() const noexcept { return execution_.plan(); }

    /// First the caller's memory, which it belongs to until clear().  Throws Error EINVAL, naming
    /// the tensor, for memory that does not fit it.
    void lend(std::span<const TensorMemory> inputs, std::span<const TensorMemory> outputs);
    /// Which tensors the caller has, by number.
    const std::vector<bool>& lent() const noexcept { return lent_; }
    /// Then the rest, of the same `lent`.  Throws Error ENOSPC or ENOMEM, or EINVAL for pictures
    /// for which there are no regions.
    void use(std::shared_ptr<ExecutionMemory> memory, PicturePrograms& pictures);
    /// Uses nothing any more.
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
        // The program is another one for pictures that lie in another way.
        return picture_program_ ? 0 : execution_.fixed_bindings(segment);
    }
    std::shared_ptr<const void> owner() const override { return execution_.owner(); }
    std::string name_of(std::size_t segment) const override { return execution_.name_of(segment); }
    std::int32_t compute(std::size_t segment) override;
    /// A BPU segment, on the thread that calls: the status of HostCore::execute().
    std::int32_t execute(std::size_t segment, HostCore& core) const;
    /// By tensor number, since use().
    std::span<const TensorPlace> places() const noexcept { return execution_.places(); }
    /// Whether a picture of the caller's is bound as it lies, which other devices cannot copy.
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
    std::shared_ptr<Buffer> picture_program_; ///< null: the plan's will do
};

/// Inferences that are not in use, and their memory, for the next requests.  Thread safe.
class InferencePool : public std::enable_shared_from_this<InferencePool> {
public:
    /// Makes the first kernels, so that one which cannot be made is known.
    explicit InferencePool(std::shared_ptr<const Plan> plan);

    /// Both return here when they go.  Throw Error ENOSPC or ENOMEM.
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
    std::unique_ptr<CpuSegments> first_cpu_; ///< until there is memory
    std::vector<std::unique_ptr<Inference>> inferences_;
    std::map<std::vector<bool>, IdleMemory> memory_; ///< by what is lent
};

} // namespace overtake::engine
