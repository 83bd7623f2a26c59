// SPDX-License-Identifier: MIT
//
// Execution: runs inferences of a plan, one after the other.
//
// Its arrays are made once and sized by the plan.  bind() writes the addresses of an inference into
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "network/cpu_segments.hpp"
#include "network/plan.hpp"
#include "network/segment_work.hpp"
#include "network/workspace.hpp"

namespace overtake {

/// A tensor in memory of the caller of an inference, and its place.
struct LentTensor {
    std::uint32_t tensor;
    TensorPlace place;
};

/// The segments of an execution are those of the plan.  One thread at a time.
class Execution final : public SegmentWork {
public:
    explicit Execution(std::shared_ptr<const Plan> plan);

    const Plan& plan() const noexcept { return *plan_; }
    const std::shared_ptr<const Plan>& shared_plan() const noexcept { return plan_; }
    /// The places of the tensors by number, as bind() set them.
    std::span<const TensorPlace> places() const noexcept { return places_; }

    /// Sets the memory of the next inference.  The arguments outlive it.  Without `cpu` it computes
    /// no CPU segments.
    void bind(const Workspace& workspace, CpuSegments* cpu, std::span<const LentTensor> lent = {});
    /// The bindings of a BPU segment, which the caller may change until the next bind().
    std::vector<overtake_binding>& bindings(std::size_t segment) { return bindings_[segment]; }

    void describe(std::size_t segment, Job& job) const override;
    void describe_group(std::size_t segment, std::span<const unsigned> cores, Job& job) override;
    std::uint64_t alone_ns() const override;
    std::size_t fixed_bindings(std::size_t segment) const override {
        return plan_->segments()[segment].fixed_bindings;
    }
    std::shared_ptr<const void> owner() const override { return plan_; }
    std::string name_of(std::size_t segment) const override;
    std::int32_t compute(std::size_t segment) override;

private:
    const std::shared_ptr<const Plan> plan_;
    std::vector<std::vector<overtake_binding>> bindings_; ///< by segment; empty for CPU
    std::vector<TensorPlace> places_;
    std::vector<overtake_part> parts_;     ///< parts of the last group whose cores were named
    const Buffer* group_record_ = nullptr; ///< as bind() set it
    CpuSegments* cpu_ = nullptr;
};

} // namespace overtake
