// SPDX-License-Identifier: MIT
//
// The functions that every operator's import for the CPU uses.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

Reference cpu_constant(Context& context, const Shape& shape, std::vector<float> elements);

/// Returns a computed input or a constant.
Reference cpu_input(Context& context, int index);

/// Returns the value itself, or a copy if the reference has another shape.
ValueId with_own_shape(Context& context, const Reference& reference);

Reference cpu_node(Context& context, const op::Cpu& form, const std::vector<Reference>& inputs,
                   const Shape& shape);

void finish_cpu(Context& context, const Reference& result, int output = 0);

/// Returns the row-major steps of a shape.
std::vector<std::int64_t> steps_of(const Shape& shape);

/// Returns a view of the input: its first element and a step for each axis of `shape`.
Reference cpu_view(Context& context, const Reference& input, std::int64_t offset,
                   std::vector<std::int64_t> steps, const Shape& shape);

/// Returns the integer part of a result that may have become a fraction.
Reference cpu_truncated(Context& context, const Reference& input);

} // namespace overtake::compiler
