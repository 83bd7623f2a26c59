// SPDX-License-Identifier: MIT
//
// The window of convolutions and pools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Returns the numbers of an attribute for the two axes of an image: one for each axis (pads: two).
/// A signal (1, C, W) counts as an image of one row, whose numbers are `neutral`.
std::vector<std::int64_t> spatial_attribute(const Context& context, const std::string& name,
                                            std::int64_t neutral, const Shape& image);

/// Reads kernel, strides and dilations: the whole window except its padding, for forward and
/// transposed windows alike.
Window read_taps(const Context& context, const std::vector<std::int64_t>& kernel,
                 const Shape& image);

Window read_window(const Context& context, const std::vector<std::int64_t>& kernel,
                   const Value& input);

/// Refuses a window that is wholly in the padding below the tensor or on its right.
void check_window(const Context& context, const Window& window, const Value& input,
                  const Value& output);

/// Refuses a pool with a window that has no tap inside the tensor.  Of the windows that overlap the
/// tensor, only dilated ones can have none.
void check_taps(const Context& context, const Window& window, const Value& input,
                const Value& output);

/// Refuses a pool whose window has more than OVERTAKE_MAX_KERNEL_ELEMENTS positions: no instruction
/// can compute it.
void check_pool_size(const Context& context, const Window& window);

} // namespace overtake::compiler
