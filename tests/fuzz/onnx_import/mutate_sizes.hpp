// SPDX-License-Identifier: MIT
//
// Mutations of related sizes in a model: most operators join, multiply or index tensors whose sizes
// have to agree.  A random size would be refused too early to reach the checks of the operators.
#pragma once

#include <cstddef>
#include <functional>

#include <onnx/onnx_pb.h>

namespace overtake::fuzz {

/// Returns a number in 0..limit-1, or 0 if limit is 0.
using Below = std::function<std::size_t(std::size_t limit)>;

/// Changes a size of an input, or of a constant, whose elements are repeated or dropped to fit. Or
/// sets a whole number of a constant or an attribute to a size in the model, or to a number next to
/// such a size. The shapes that the model states for other tensors are mostly removed, so that they
/// do not contradict the change.
void mutate_sizes(onnx::GraphProto& graph, const Below& below);

} // namespace overtake::fuzz
