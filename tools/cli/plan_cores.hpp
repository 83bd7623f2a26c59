// SPDX-License-Identifier: MIT
//
// Embedded devices for models with plans for several cores.
#pragma once

#include <memory>
#include <span>

#include "overtake/device.hpp"
#include "overtake/model.hpp"

namespace overtake::command {

/// An embedded device has the cores that the first model with a plan for several cores wants, if
/// their profiles are built in; without such a model, and if it names its cores, it is left as it
/// is.
void give_plan_cores(EmbeddedOptions& embedded,
                     std::span<const std::shared_ptr<const Model>> models);

} // namespace overtake::command
