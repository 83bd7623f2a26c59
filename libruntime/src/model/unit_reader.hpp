// SPDX-License-Identifier: MIT
#pragma once

#include "model/place.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

/// Fills `classes` and `units` of contents that are complete but for them, tensors of units
/// included.  Whatever a unit reads is a constant, an input of the model, or written by each class
/// of a unit that ends before it begins.  Throws Error as read_model() does.
void read_units(const fbs::Model& root, const FileView& file, ModelContents& contents);

} // namespace overtake
