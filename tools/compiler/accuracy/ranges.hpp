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

/// Indices into range_methods: of all values, and of those that have one of their own, by name.
struct MethodChoice {
    std::size_t usual = 0;
    std::map<std::string, std::size_t> of_value;
};

/// By value.  `calibration` is made for CalibrationMethod::best.
std::vector<Range> ranges_by(const MethodChoice& choice, const Graph& graph,
                             const Calibration& calibration, double percentile);

/// For each value the method whose range costs the outputs least, where that is clearly less than
/// by the usual one: what values lose together is not the sum of what each loses.
MethodChoice choose_by_value(std::size_t usual, const Graph& graph, const Calibration& calibration,
                             double percentile, const Samples& samples,
                             const std::function<void(double)>& progress);

/// Values whose quantisation is their own, and chosen.
std::vector<ValueId> chosen_values(const Graph& graph);

} // namespace overtake::compiler
