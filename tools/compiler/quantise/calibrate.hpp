// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "compiler/inputs/samples.hpp"
#include "compiler/ir/graph.hpp"
#include "compiler/quantise/histogram.hpp"

namespace overtake::compiler {

/// The choice of a tensor's range from the values that it takes.
enum class CalibrationMethod {
    min_max,    ///< all of them
    percentile, ///< all but the least and greatest few
    kl,         ///< Kullback-Leibler divergence: see Histogram::least_divergence(); all values of
                ///< an output if cutting ends off gives a greater squared error
    mse,        ///< mean squared error, behind a function if one follows: see
                ///< Histogram::least_error()
    best,       ///< the one of these four with the outputs nearest to float
};

/// The distribution of every value of a graph over the samples.  Constant once made.
class Calibration {
public:
    /// Runs the graph over the samples, twice unless min_max is all that is asked for.  `progress`
    /// is called with 0..1.  Throws CompileError if a value is not finite.
    Calibration(const Graph& graph, const Samples& samples, CalibrationMethod method,
                const std::function<void(double)>& progress);

    /// Returns the range of a value by a method that the object was made for, except best, which
    /// compares more than one value.  The range of an output that a Sigmoid or Tanh makes includes
    /// all results of that function, and the range of the function's input all numbers that 8 bits
    /// tell apart: the samples may never reach them.  Numbers that the value's only reader does not
    /// tell apart are left out; see distinct_range().  A percentile leaves out the (100 -
    /// percentile) % least and greatest elements.  The range of a value of 16 bits has all its
    /// elements, whatever the method.
    Range range(ValueId id, CalibrationMethod method, double percentile) const;
    /// Returns the ranges by ValueId.
    std::vector<Range> ranges(CalibrationMethod method, double percentile) const;

    /// An output that Sigmoid or Tanh makes.
    struct Bounded {
        ValueId value;
        const char* function;
    };
    const std::vector<Bounded>& bounded_outputs() const { return bounded_; }
    /// Returns the greatest magnitude of a value over the samples.
    float greatest(ValueId id) const;

    /// Returns the mean of each channel, by ValueId.
    const std::vector<std::vector<double>>& channel_means() const { return means_; }

private:
    static void add_means(const Value& value, const std::vector<float>& data, std::size_t samples,
                          std::vector<double>& means);

    void find_functions(const Graph& graph);
    void find_outputs(const Graph& graph);
    void find_bounded(const Graph& graph);
    Range least_divergence(ValueId id) const;

    std::vector<bool> on_device_; // values of the CPU alone need no range
    std::vector<bool> is_int16_;
    std::vector<Histogram> histograms_;
    std::vector<std::function<float(float)>> functions_; // of the value's only reader, or none
    std::vector<bool> is_output_; // of the graph, perhaps after having been moved
    std::vector<Range> least_;    // the least range of the value, whatever the samples are
    std::vector<Bounded> bounded_;
    std::vector<std::vector<double>> means_;
};

} // namespace overtake::compiler
