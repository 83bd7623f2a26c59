// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "observe/timeline/timeline.hpp"

namespace overtake::timeline {

/// Writes the timeline as a trace that ui.perfetto.dev and trace_processor read. Each ring of each
/// core has a track with its FCs, and each task has a track with its jobs, their FCs, and its CPU
/// segments. A job that was preempted is several slices, joined by flows. Timestamps are device
/// time in nanoseconds. Creates or replaces `path` atomically. Throws Error, which names the file
/// and the reason.
void write_perfetto(const Timeline& timeline, const std::string& path);

} // namespace overtake::timeline
