// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "compiler/quantise/histogram.hpp"

namespace overtake::compiler {

/// The part of a range in which a function, the only reader of a value, tells values apart by more
/// than half of the 255 steps that its own result has.  Ends in which it does not are cut off if
/// that makes the value's steps several times finer, and not so much finer that what the value is
/// computed from could no longer be scaled to it exactly; otherwise the range stays as it is.
Range distinct_range(Range range, const std::function<float(float)>& function);

} // namespace overtake::compiler
