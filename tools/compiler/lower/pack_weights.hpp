// SPDX-License-Identifier: MIT
//
// Constants in the order that the instruction set requires.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

/// Packs weights of a convolution, transposed or not, whose groups have `inputs_of_group` channels
/// each.
std::vector<std::int8_t> pack_convolution(const op::Convolution& convolution,
                                          const QuantisedNode& quantised,
                                          std::uint32_t inputs_of_group);

/// Packs weights of a depthwise convolution.
std::vector<std::int8_t> pack_depthwise(const op::Convolution& convolution,
                                        const QuantisedNode& quantised);

/// Packs bias, multipliers and shifts of the output channels.
std::vector<std::uint32_t> pack_parameters(const QuantisedNode& quantised);

/// Packs multipliers and shifts for each number of averaged elements.
std::vector<std::uint32_t> pack_average(const QuantisedNode& quantised);

/// Packs the elements of a constant as dense_place() places them.
std::vector<std::int8_t> pack_constant(const Value& value, const Quantisation& quantisation);

} // namespace overtake::compiler
