// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/float/executor.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// A value of a graph that is to be rounded to 8 bits, alone.
struct Rounding {
    ValueId value;
    Quantisation to;
};

/// What a rounding costs.  Errors are squares: the mean square of the difference over that of
/// float, over all samples; 0 where float has zeros alone.
struct Loss {
    double value = 0;            ///< error of the value itself
    std::vector<double> outputs; ///< errors of the graph's outputs, in their order
};

/// Runs the graph in float over `samples`, and once more behind each rounding.  `progress` is
/// called with 0..1.  Results are in the order of `roundings`.  Throws CompileError.
std::vector<Loss> losses_of(const Graph& graph, std::span<const FloatValues> samples,
                            std::span<const Rounding> roundings,
                            const std::function<void(double)>& progress);

/// Loss::value of each rounding alone, which one run over each sample shows.
std::vector<double> rounding_errors(const Graph& graph, std::span<const FloatValues> samples,
                                    std::span<const Rounding> roundings);

/// How many operations one run of the graph takes, about: multiply-accumulates, and elements that
/// nodes read and write.
std::uint64_t operations_of(const Graph& graph);
/// The same of one node.
std::uint64_t operations_of(const Graph& graph, const Node& node);

} // namespace overtake::compiler
