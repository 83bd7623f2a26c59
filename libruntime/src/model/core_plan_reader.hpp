// SPDX-License-Identifier: MIT
#pragma once

#include "model/place.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

/// Fills `core_plan` of contents that have everything that segments need.  Checks that each
/// instruction of the plan stays in the memory that its segment binds.  Throws Error as
/// read_model() does.
void read_core_plan(const fbs::CorePlan& from, const FileView& file, ModelContents& contents);

} // namespace overtake
