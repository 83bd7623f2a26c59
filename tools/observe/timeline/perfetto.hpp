// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "observe/timeline/timeline.hpp"

namespace overtake::timeline {

/// Writes the timeline as a trace that ui.perfetto.dev and trace_processor read: a track for each
/// ring of each core with its FCs, a track for each task with its jobs and their FCs, and its CPU
/// segments; a job that was preempted is several slices, joined by flows. Timestamps are device
/// time in nanoseconds. Creates or replaces `path`: whole or not at all. Throws Error naming the
/// file and the reason.
void write_perfetto(const Timeline& timeline, const std::string& path);

} // namespace overtake::timeline
