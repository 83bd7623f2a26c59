// SPDX-License-Identifier: MIT
//
// Which operators of a CPU segment are computed on the output of an earlier one, in place.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cpu/operation.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

/// An operator and those that follow it.  It runs at the place of the last one.
struct CpuChain {
    std::size_t first, last;               ///< of the segment's operators
    std::vector<std::size_t> followers;    ///< the operators behind the first, the last included
    std::vector<cpu::Following> following; ///< functions and sums
    std::vector<std::uint32_t> added;      ///< tensors: what the sums add
};

/// All operators of the segment, in an order in which chains can run.  Functions of one element,
/// and sums with another tensor of the same shape, follow the operator whose output only they
/// read.  `is_internal`, by tensor: only this segment knows it.
std::vector<CpuChain> cpu_chains(std::span<const CpuOp> ops, std::span<const Tensor> tensors,
                                 const std::vector<bool>& is_internal);

} // namespace overtake
