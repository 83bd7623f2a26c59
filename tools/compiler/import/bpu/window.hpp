// SPDX-License-Identifier: MIT
//
// The window of convolutions and pools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// The numbers of an attribute for the two axes of an image: one for each axis (pads: two).  A
/// signal (1, C, W) counts as an image of one row, whose numbers are `neutral`.
std::vector<std::int64_t> spatial_attribute(const Context& context, const std::string& name,
                                            std::int64_t neutral, const Shape& image);

/// Reads kernel, strides and dilations: all of a window but its padding, for forward and transposed
/// windows alike.
Window read_taps(const Context& context, const std::vector<std::int64_t>& kernel,
                 const Shape& image);

Window read_window(const Context& context, const std::vector<std::int64_t>& kernel,
                   const Value& input);

/// Refuses a window that lies wholly in the padding below or on the right of the tensor.
void check_window(const Context& context, const Window& window, const Value& input,
                  const Value& output);

/// Refuses a pool with a window that has no tap inside the tensor.  Of the windows that overlap the
/// tensor, only dilated ones can be so.
void check_taps(const Context& context, const Window& window, const Value& input,
                const Value& output);

/// Refuses a pool whose window has more than OVERTAKE_MAX_KERNEL_ELEMENTS positions, which no
/// instruction takes.
void check_pool_size(const Context& context, const Window& window);

} // namespace overtake::compiler
