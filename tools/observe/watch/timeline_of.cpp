// SPDX-License-Identifier: MIT
#include "observe/watch/timeline_of.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

namespace overtake::watch {

void add_to(timeline::Timeline& timeline, const Event& event, const Job* job) {
    const auto task = [&] { return owner_name(job ? job->model : 0, event.pid); };
    switch (event.type) {
    case EventType::fc_done:
        timeline.fcs.push_back(
            {.task = task(),
             .tag = event.tag,
             .index = event.fc_index,
             .core = event.core,
             .high = event.high,
             .start_ns = event.time_ns - event.duration_ns,
             .end_ns = event.time_ns,
             .part = event.part,
             .stage = job && job->has_parts ? std::optional(event.stage) : std::nullopt});
        return;
    case EventType::fc_preempt:
        timeline.preemptions.push_back({event.core, event.time_ns, event.tag});
        return;
    case EventType::job_done:
        if (job)
            timeline.requests.push_back({task(), job->queued_ns, job->end_ns});
        return;
    default:
        return;
    }
}

void sort_by_start(timeline::Timeline& timeline) {
    std::ranges::sort(timeline.fcs, [](const timeline::Fc& left, const timeline::Fc& right) {
        return std::tie(left.start_ns, left.core) < std::tie(right.start_ns, right.core);
    });
}

} // namespace overtake::watch
