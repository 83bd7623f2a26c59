// SPDX-License-Identifier: MIT
#include "compiler/quantise/unreached.hpp"

#include <fmt/format.h>

namespace overtake::compiler {

void warn_of_unreached(const std::string& model, const Graph& graph, const Calibration& calibration,
                       const Warn& warn) {
    constexpr float half = 0.5f; // both functions go to 1
    for (const auto& [value, function] : calibration.bounded_outputs())
        if (const float greatest = calibration.greatest(value); warn && greatest < half)
            warn(fmt::format(
                "{}: output '{}' ({}) stays within {:.3g} of 0 over the calibration "
                "samples, and can reach 1; give samples of all that it is to tell apart",
                model, graph.values[value].name, function, greatest));
}

} // namespace overtake::compiler
