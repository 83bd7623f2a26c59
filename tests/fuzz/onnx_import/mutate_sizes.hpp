// SPDX-License-Identifier: MIT
//
// Mutations of the sizes in a model, held against each other: most operators join, multiply or
// index tensors whose sizes have to agree, and a random number next to them is refused too early
// to find out who checks that.
#pragma once

#include <cstddef>
#include <functional>

#include <onnx/onnx_pb.h>

namespace overtake::fuzz {

/// A number in 0..limit-1; 0 if there is none.
using Below = std::function<std::size_t(std::size_t limit)>;

/// Changes a size of an input or a constant, which stays whole: its elements are repeated or
/// dropped.  Or a whole number of a constant or an attribute becomes a size that stands in the
/// model, or one next to it.  What the model says in passing of its other shapes is mostly
/// forgotten, so that it contradicts nothing.
void mutate_sizes(onnx::GraphProto& graph, const Below& below);

} // namespace overtake::fuzz
