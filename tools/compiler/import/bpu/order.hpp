// SPDX-License-Identifier: MIT
//
// Values in the shape and order that an operator of the device needs.
#pragma once

#include <array>
#include <cstddef>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

constexpr std::array<std::size_t, 3> no_change = {0, 1, 2};

/// Returns the value of a reference, with the reference's shape and in an order; makes it if
/// needed.
ValueId in_order(Context& context, const Reference& reference, Order order);

/// Returns the value with its last two axes exchanged, as rows.
ValueId transposed_matrix(Context& context, const Reference& reference);

/// Returns an input that is pictures or signals, one or a batch of them, as planes.
Reference image_input(Context& context, int index);

} // namespace overtake::compiler
