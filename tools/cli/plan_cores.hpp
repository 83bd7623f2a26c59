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

/// Gives an embedded device the cores of the first model that has a plan for several cores, if
/// their profiles are built in. Without such a model, or if the device names its cores, `embedded`
/// stays unchanged.
void give_plan_cores(EmbeddedOptions& embedded,
                     std::span<const std::shared_ptr<const Model>> models);

/// The object that makes the requests.
enum class RequestsBy { session, engine, processors };

/// Prints a line on stderr for each model whose plan for several cores its requests cannot use. The
/// line has the reason, such as cores that the device lacks. `paths` names the models.
void warn_of_unused_plans(const Device& device,
                          std::span<const std::shared_ptr<const Model>> models,
                          std::span<const std::string> paths, RequestsBy by);

} // namespace overtake::command
