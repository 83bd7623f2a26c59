// SPDX-License-Identifier: MIT
//
// Values in the shape and order that an operator of the device wants.
#pragma once

#include <array>
#include <cstddef>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

constexpr std::array<std::size_t, 3> no_change = {0, 1, 2};

/// The value that a reference stands for, with its shape and in an order; made if it is not there.
ValueId in_order(Context& context, const Reference& reference, Order order);

/// Its last two axes exchanged, as rows.
ValueId transposed_matrix(Context& context, const Reference& reference);

/// Pictures or signals, one or a batch of them, as planes.
Reference image_input(Context& context, int index);

} // namespace overtake::compiler
