// SPDX-License-Identifier: MIT
//
// CpuSegments: the kernels of a model's CPU operators, and the memory that they need beside the
// model's tensors.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "cpu/operation.hpp"
#include "network/plan.hpp"
#include "network/workspace.hpp"

namespace overtake {

/// One thread at a time.
class CpuSegments {
public:
    /// Throws Error ENOMEM, and ENOENT for an operator that is not registered.
    explicit CpuSegments(std::shared_ptr<const Plan> plan);

    /// Computes a CPU segment.  `places` by tensor number.  Throws Error, naming the operator.
    void compute(std::size_t segment, std::span<const TensorPlace> places);

private:
    void compute(const CpuOp& op, const cpu::Kernel& kernel, std::span<const TensorPlace> places);

    std::shared_ptr<const Plan> plan_;
    std::vector<std::vector<cpu::Kernel>> kernels_; ///< by [segment][operator]
    std::vector<float> values_;                     ///< of operands that are in device memory
    cpu::Inputs inputs_;
};

} // namespace overtake
