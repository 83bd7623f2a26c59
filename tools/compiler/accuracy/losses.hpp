// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/inputs/samples.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// A value of a graph that is to be rounded to 8 bits, alone.
struct Rounding {
    ValueId value;
    Quantisation to;
};

/// The errors that a rounding causes.  Errors are squares: the mean square of the difference over
/// that of float, over all samples; 0 where float has zeros alone.
struct Loss {
    double value = 0;            ///< error of the value itself
    std::vector<double> outputs; ///< errors of the graph's outputs, in their order

    /// Returns the sum of the outputs' errors, each at most 4.  A result of zeros has an error of
    /// 1, so a result with an error of 4 has nothing left to lose.
    double sum() const;
};

/// The error of each output if a node cannot run with the rounded value: with an index out of
/// range.
inline constexpr double error_of_no_result = 16;

/// Runs the graph in float over `samples`, and for each rounding the nodes behind it once more.
/// `progress` is called with 0..1.  Results are in the order of `roundings`.  Throws CompileError.
std::vector<Loss> losses_of(const Graph& graph, std::span<const FloatValues> samples,
                            std::span<const Rounding> roundings,
                            const std::function<void(double)>& progress);

/// Does the same as losses_of(), in bounded time: over samples_in_time() with a run for each
/// rounding.
std::vector<Loss> losses_in_time(const Graph& graph, const Samples& samples,
                                 std::span<const Rounding> roundings,
                                 const std::function<void(double)>& progress);

/// Returns the `most` roundings with the greatest errors of their own in `sample`, in their order.
std::vector<Rounding> worst_of(const Graph& graph, const FloatValues& sample,
                               std::vector<Rounding> roundings, std::size_t most);

/// Returns how many runs of the graph losses_in_time() has time for.
std::size_t runs_in_time(const Graph& graph);

/// Returns `count` of the samples, spread evenly; all of them if there are fewer.
Samples spread(const Samples& samples, std::size_t count);

/// Returns samples, spread evenly, as many as there is time for with `probes` runs of the graph for
/// each: 1 to 8.
Samples samples_in_time(const Graph& graph, const Samples& samples, std::size_t probes);

/// Returns about how many operations a node takes: multiply-accumulates, and elements that it reads
/// and writes.
std::uint64_t operations_of(const Graph& graph, const Node& node);
/// Returns the cost of one run of the graph in float, in operations.  The cost of a small node is
/// mostly its call.
std::uint64_t effort_of(const Graph& graph);

} // namespace overtake::compiler
