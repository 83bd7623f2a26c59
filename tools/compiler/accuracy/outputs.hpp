// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/candidate.hpp"
#include "compiler/file/compare.hpp"

namespace overtake::compiler {

/// Returns how near a candidate's outputs come to float over `samples`, by output.  An output that
/// no node makes counts as equal.  `uses` as for compare_with_float().  `progress` is called with
/// 0..1.
std::vector<NodeSimilarity> compare_outputs(const Candidate& candidate,
                                            std::span<const FloatValues> samples,
                                            const OutputUses& uses,
                                            const std::function<void(double)>& progress);

/// Returns output_error() of each output.
std::vector<float> errors_of(const std::vector<NodeSimilarity>& outputs);

} // namespace overtake::compiler
