// SPDX-License-Identifier: MIT
//
// Embedded devices for models with plans for several cores.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "overtake/device.hpp"
#include "overtake/model.hpp"

namespace overtake::command {

/// An embedded device has the cores that the first model with a plan for several cores wants, if
/// their profiles are built in; without such a model, and if it names its cores, it is left as it
/// is.
void give_plan_cores(EmbeddedOptions& embedded,
                     std::span<const std::shared_ptr<const Model>> models);

/// What makes the requests.
enum class RequestsBy { session, engine, processors };

/// A line on stderr for each model whose plan for several cores is of no use to its requests: which
/// cores the device lacks, or what else is in the way.  `paths` names the models.
void warn_of_unused_plans(const Device& device,
                          std::span<const std::shared_ptr<const Model>> models,
                          std::span<const std::string> paths, RequestsBy by);

} // namespace overtake::command
