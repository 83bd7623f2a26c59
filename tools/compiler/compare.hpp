// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "calibrate.hpp"
#include "program.hpp"
#include "quantise.hpp"

namespace overtake::compiler {

/// Runs the program with the device's own operators and the graph in float over `samples`, and
/// returns the cosine similarity of each node's output, by node; 1 where both are zero.
/// `progress` is called with 0..1.
std::vector<float> cosine_similarities(const Graph& graph, const QuantisedGraph& quantised,
                                       const Program& program, const Samples& samples,
                                       const std::function<void(double)>& progress);

} // namespace overtake::compiler
