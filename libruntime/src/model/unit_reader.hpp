// SPDX-License-Identifier: MIT
#pragma once

#include "model/place.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

/// Fills `classes` and `units` of contents that are complete except for these; the tensors of units
/// are there.  Everything that a unit reads is a constant, an input of the model, written before by
/// the same class of the unit, or written by each class of a unit that ends before it begins.
/// Throws Error as read_model() does.
void read_units(const fbs::Model& root, const FileView& file, ModelContents& contents);

} // namespace overtake
