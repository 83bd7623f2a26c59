// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "compiler/quantise/histogram.hpp"

namespace overtake::compiler {

/// Returns the part of a range in which a function, the only reader of a value, distinguishes
/// values by more than half of the 255 steps of its own result.  Other ends are cut off if that
/// makes the value's steps several times finer, but not so much finer that the inputs of the value
/// could no longer be scaled to it exactly.  Otherwise the range does not change.
Range distinct_range(Range range, const std::function<float(float)>& function);

} // namespace overtake::compiler
