// SPDX-License-Identifier: MIT
//
// Finds the operators of a CPU segment that are computed in place on the output of an earlier one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cpu/operation.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

/// An operator and the operators that follow it.  The chain runs at the place of the last one.
struct CpuChain {
    std::size_t first, last;               ///< positions in the segment's operators
    std::vector<std::size_t> followers;    ///< the operators after the first, including the last
    std::vector<cpu::Following> following; ///< by follower: its function, or a sum
    std::vector<std::uint32_t> added;      ///< the tensors that the sums add
};

/// Returns all operators of the segment, in an order in which chains can run.  A function of one
/// element, or a sum with another tensor of the same shape, joins the chain of an operator if no
/// other operator reads that operator's output.  `is_internal` states for each tensor whether only
/// this segment uses it.
std::vector<CpuChain> cpu_chains(std::span<const CpuOp> ops, std::span<const Tensor> tensors,
                                 const std::vector<bool>& is_internal);

} // namespace overtake
