// SPDX-License-Identifier: MIT
//
// Execution: an inference of a plan, and the next one after it.
//
// Its arrays are made once and sized by the plan.  What an inference brings are addresses, which
// bind() writes into them.
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

/// A tensor that the caller of an inference has, and where.
struct LentTensor {
    std::uint32_t tensor;
    TensorPlace place;
};

/// Its segments are those of the plan.  One thread at a time.
class Execution final : public SegmentWork {
public:
    explicit Execution(std::shared_ptr<const Plan> plan);

    const Plan& plan() const noexcept { return *plan_; }
    const std::shared_ptr<const Plan>& shared_plan() const noexcept { return plan_; }
    /// By tensor number, as of bind().
    std::span<const TensorPlace> places() const noexcept { return places_; }

    /// The next inference uses these.  All of them outlive it.  Without `cpu` it computes no CPU
    /// segments.
    void bind(const Workspace& workspace, CpuSegments* cpu, std::span<const LentTensor> lent = {});
    /// Of a BPU segment, for the caller to change until the next bind().
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
    std::vector<overtake_part> parts_;     ///< of the last group whose cores were named
    const Buffer* group_record_ = nullptr; ///< as of bind()
    CpuSegments* cpu_ = nullptr;
};

} // namespace overtake
