// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "overtake/processor.hpp"

namespace overtake::coordination {

/// Returns the processor that register_processor() registered for the class; null if there is none.
/// Thread safe.
std::shared_ptr<OwnProcessor> registered_processor(const std::string& class_name);

} // namespace overtake::coordination
