// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "float_executor.hpp"
#include "graph.hpp"

namespace overtake::compiler {

/// Samples, each holding one array for each input of the graph.
using Samples = std::vector<FloatValues>;

/// Reads samples for `graph`.  Each specification is [INPUT=]FILE.npy or [INPUT=]DIRECTORY of .npy
/// files (taken in the order of their names); the input's name may be left out if there is
/// only one.  An array holds one sample, or several along a leading axis.  All inputs need
/// equally many.  Throws CompileError.
Samples read_samples(const Graph& graph, const std::vector<std::string>& specifications);

/// `count` samples of noise, the same for the same seed: standard normal, or uniform over what an
/// input's given quantisation holds.
Samples random_samples(const Graph& graph, std::size_t count, unsigned seed);

/// The interval of the values that a tensor takes.
struct Range {
    float low;
    float high;
};

/// Runs the graph over the samples and returns the range of each value, by ValueId.  A percentile
/// below 100 leaves out the (100 - percentile) % least and greatest elements.
/// `progress` is called with 0..1.  Throws CompileError if a value is not finite.
std::vector<Range> calibrate(const Graph& graph, const Samples& samples, double percentile,
                             const std::function<void(double)>& progress);

} // namespace overtake::compiler
