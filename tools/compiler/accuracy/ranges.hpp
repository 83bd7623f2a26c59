// SPDX-License-Identifier: MIT
//
// Chooses the calibration method that gives each value of a graph its range.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/inputs/samples.hpp"
#include "compiler/quantise/calibrate.hpp"

namespace overtake::compiler {

struct NamedMethod {
    const char* name;
    CalibrationMethod method;
};
inline constexpr std::array<NamedMethod, 4> range_methods = {
    {{"min-max", CalibrationMethod::min_max},
     {"percentile", CalibrationMethod::percentile},
     {"kl", CalibrationMethod::kl},
     {"mse", CalibrationMethod::mse}}};

/// Indices into range_methods: of the usual method, and, by the value's name, of the method of each
/// value that has its own.
struct MethodChoice {
    std::size_t usual = 0;
    std::map<std::string, std::size_t> of_value;
};

/// Returns the ranges by value.  `calibration` is made for CalibrationMethod::best.
std::vector<Range> ranges_by(const MethodChoice& choice, const Graph& graph,
                             const Calibration& calibration, double percentile);

/// Returns, for each value, the method whose range costs the outputs least.  A value keeps the
/// usual method unless another costs clearly less, since the loss of all values together is not the
/// sum of their losses.
MethodChoice choose_by_value(std::size_t usual, const Graph& graph, const Calibration& calibration,
                             double percentile, const Samples& samples,
                             const std::function<void(double)>& progress);

/// Returns the device's values whose quantisation calibration chooses: no constants, none with
/// scales of the model, and none that a node only moves.
std::vector<ValueId> chosen_values(const Graph& graph);

} // namespace overtake::compiler
