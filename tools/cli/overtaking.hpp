// SPDX-License-Identifier: MIT
#pragma once

#include "overtake/session.hpp"

namespace overtake::command {

/// Throws CLI::ValidationError if a core limit is requested with a priority other than 255.
void check_core_limit(unsigned asked_core_limit, unsigned priority);

/// Prints one line on stderr if requests of priority 255 will not overtake anything: no core on
/// which they may run has a core limit, and `asked_core_limit` requests none.
void warn_unless_overtaking(const Device& device, const TaskOptions& task,
                            unsigned asked_core_limit);

} // namespace overtake::command
