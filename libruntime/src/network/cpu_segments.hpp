// SPDX-License-Identifier: MIT
//
// CpuSegments: the kernels of a model's CPU operators, and the memory that they need beside the
// model's tensors.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpu/layout.hpp"
#include "cpu/operation.hpp"
#include "cpu/program.hpp"
#include "network/plan.hpp"
#include "network/workspace.hpp"

namespace overtake {

/// Computes CPU segments.  One thread at a time.
class CpuSegments {
public:
    /// Throws Error ENOMEM, and ENOENT for an operator that is not registered.
    explicit CpuSegments(std::shared_ptr<const Plan> plan);

    /// Computes a CPU segment.  `places`: by tensor number.  Throws Error, naming the operator.
    void compute(std::size_t segment, std::span<const TensorPlace> places);

private:
    /// One step: either member is set; neither for a copy from or to the device.
    struct Made {
        cpu::Kernel kernel;
        std::optional<cpu::Conversion> conversion;
    };

    void run(const CpuStep& step, const Made& made, std::span<const TensorPlace> places);
    std::span<const float> values_at(const CpuSlot& slot, std::span<const TensorPlace> places);
    std::span<float> memory_at(const CpuSlot& slot, std::span<const TensorPlace> places);

    std::shared_ptr<const Plan> plan_;
    std::vector<std::vector<Made>> made_; ///< by [segment][step]
    std::vector<float> own_;              ///< memory of the segment that runs
    cpu::Inputs inputs_;
};

} // namespace overtake
