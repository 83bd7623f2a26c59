// SPDX-License-Identifier: MIT
//
// Constants in the order in which the instruction set wants them.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

/// Weights of a convolution, transposed or not, whose groups have `inputs_of_group` channels each.
std::vector<std::int8_t> pack_convolution(const op::Convolution& convolution,
                                          const QuantisedNode& quantised,
                                          std::uint32_t inputs_of_group);

/// Weights of a depthwise convolution.
std::vector<std::int8_t> pack_depthwise(const op::Convolution& convolution,
                                        const QuantisedNode& quantised);

/// Bias, multipliers and shifts of the output channels.
std::vector<std::uint32_t> pack_parameters(const QuantisedNode& quantised);

/// Multipliers and shifts for each number of averaged elements.
std::vector<std::uint32_t> pack_average(const QuantisedNode& quantised);

/// The elements of a constant as dense_place() lays them out.
std::vector<std::int8_t> pack_constant(const Value& value, const Quantisation& quantisation);

} // namespace overtake::compiler
