// SPDX-License-Identifier: MIT
//
// The padding of windows on the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Returns the padding before each axis of a window, in whatever way the node gives it.  `sizes`
/// are the sizes of the tensor under the windows, `counts` the numbers of windows.
std::vector<std::int64_t> padding_of(const Context& context,
                                     const std::vector<std::int64_t>& extents,
                                     const std::vector<std::int64_t>& strides, const Shape& sizes,
                                     const Shape& counts, bool is_given);

} // namespace overtake::compiler
