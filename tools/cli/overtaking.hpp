// SPDX-License-Identifier: MIT
#pragma once

#include "overtake/session.hpp"

namespace overtake::command {

/// Throws CLI::ValidationError if a core limit is asked for beside another priority than 255.
void check_core_limit(unsigned asked_core_limit, unsigned priority);

/// Says on stderr, in one line, when requests of priority 255 will not overtake anything: no core
/// that they may run on has a core limit, and `asked_core_limit` asks for none.
void warn_unless_overtaking(const Device& device, const TaskOptions& task,
                            unsigned asked_core_limit);

} // namespace overtake::command
