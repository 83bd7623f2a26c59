// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace overtake::compiler {

/// A source of differences from float, which is gone once all of `nodes` compute in float.
struct ErrorSource {
    std::vector<std::size_t> nodes;
    std::vector<double> outputs; ///< squared relative error that it gives each output
};

/// One step on the way from integers to float.
struct FloatStep {
    std::vector<std::size_t> nodes; ///< nodes that compute in float from here on
    std::vector<double> outputs;    ///< remaining squared errors, if errors add up
};

/// Returns the order in which nodes should leave the integers: those with most effect for the least
/// work first.  `work` is by node.  `wanted` is the squared error that each output may have.  The
/// last step leaves no source.  The time is in proportion to the number of sources, and to the
/// number of sources that share nodes with the greatest few.
std::vector<FloatStep> float_order(const std::vector<ErrorSource>& sources,
                                   const std::vector<double>& work, double wanted);

} // namespace overtake::compiler
