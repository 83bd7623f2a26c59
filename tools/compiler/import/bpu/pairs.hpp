// SPDX-License-Identifier: MIT
//
// The common parts of operators of two tensors on the device; one of the two may be a constant.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// A computed tensor or a constant.
struct Operand {
    Reference reference;
    const Constant* constant;
};

/// Returns a constant operand beside `other` as one element per channel; nothing if it is no such
/// constant.
std::optional<std::vector<float>> per_channel(const Context& context, const Constant& constant,
                                              const Reference& other);

/// Returns a constant operand of an operator whose output has `shape`, as bytes among the weights.
ValueId device_constant(Context& context, const Constant& constant, const Shape& shape,
                        Order order);

/// Whether both have one shape and one order in memory, flattened or not.
bool lie_alike(const Context& context, const Reference& left, const Reference& right);

/// Checks that each dimension of an operand is the output's or 1.
void check_broadcast(const Context& context, ValueId input, ValueId output);

Operand operand(const Context& context, int index);

/// Adds an operator of two operands, at least one of which is computed.
Reference add_pair(Context& context, op::Pair::Kind kind, const Operand& left, const Operand& right,
                   const std::string& name);

/// Adds the operators for all inputs, from the first to the last.
Reference add_chain(Context& context, op::Pair::Kind kind, const std::string& name);

void add_function(Context& context, const Reference& input, std::function<float(float)> function);

/// Adds out = in * scale + offset, for each channel.
void add_affine(Context& context, const Reference& input, std::vector<float> scale,
                std::vector<float> offset);

} // namespace overtake::compiler
