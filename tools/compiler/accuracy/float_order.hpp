// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace overtake::compiler {

/// What makes outputs differ from float, and ends where all of `nodes` compute in float.
struct ErrorSource {
    std::vector<std::size_t> nodes;
    std::vector<double> outputs; ///< squared relative error that it gives each output
};

/// One step on the way from integers to float.
struct FloatStep {
    std::vector<std::size_t> nodes; ///< that compute in float from here on
    std::vector<double> outputs;    ///< squared errors that are left, if errors add up
};

/// In which order nodes should leave the integers: first those that bring most for the least work.
/// `work` is by node.  `wanted` is the squared error that each output may have.  The last step
/// leaves no source.  Steps take time in proportion to the sources' number times that of the
/// greatest few's neighbours.
std::vector<FloatStep> float_order(const std::vector<ErrorSource>& sources,
                                   const std::vector<double>& work, double wanted);

} // namespace overtake::compiler
