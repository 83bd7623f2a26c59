// SPDX-License-Identifier: MIT
//
// The window of convolutions and pools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// An attribute with a number (pads: two) for each spatial axis, as one of images: a signal (1, C,
/// W) is an image of one row.
std::vector<std::int64_t> spatial_attribute(const Context& context, const std::string& name,
                                            std::int64_t neutral, const Shape& image);

/// What forward and transposed windows have in common: all but the padding.
Window read_taps(const Context& context, const std::vector<std::int64_t>& kernel,
                 const Shape& image);

Window read_window(const Context& context, const std::vector<std::int64_t>& kernel,
                   const Value& input);

/// Every window has to overlap the tensor; that bounds the padding below and on the right.
void check_window(const Context& context, const Window& window, const Value& input,
                  const Value& output);

/// A pool has to have something in every window; only a dilated one can miss the tensor it covers.
void check_taps(const Context& context, const Window& window, const Value& input,
                const Value& output);

/// More than an instruction takes, and no reason to try.
void check_pool_size(const Context& context, const Window& window);

} // namespace overtake::compiler
