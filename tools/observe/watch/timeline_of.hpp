// SPDX-License-Identifier: MIT
#pragma once

#include "observe/timeline/timeline.hpp"
#include "observe/watch/jobs.hpp"
#include "overtake/event.hpp"

namespace overtake::watch {

/// Adds the event to a picture. `job`: from Jobs. FCs are added in the order of their ends: call
/// sort_by_start() before drawing.
void add_to(timeline::Timeline& timeline, const Event& event, const Job* job);
void sort_by_start(timeline::Timeline& timeline);

} // namespace overtake::watch
