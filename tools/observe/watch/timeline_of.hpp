// SPDX-License-Identifier: MIT
#pragma once

#include "observe/timeline/timeline.hpp"
#include "observe/watch/jobs.hpp"
#include "overtake/event.hpp"

namespace overtake::watch {

/// Adds what the event says to a picture.  `job`: as Jobs has it.  FCs come in the order of their
/// ends: sort_by_start() before it is drawn.
void add_to(timeline::Timeline& timeline, const Event& event, const Job* job);
void sort_by_start(timeline::Timeline& timeline);

} // namespace overtake::watch
