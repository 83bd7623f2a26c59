// SPDX-License-Identifier: MIT
#include "engine/run.hpp"

#include <bit>
#include <cerrno>
#include <utility>

namespace overtake::engine {

Run::Run(std::span<const TaskSegment> segments, const RunOptions& options,
         std::shared_ptr<void> memory)
    : SubmittedTask(std::move(memory)), segments_(segments.begin(), segments.end()),
      options_(options), scheduled_(segments.size()), records_(segments.size()) {
    if (segments_.empty())
        throw Error(EINVAL, "task: no segment");
    if (options_.priority > priority_high)
        throw Error(EINVAL, "task: priority " + std::to_string(options_.priority) + ", at most " +
                                std::to_string(priority_high));
    if (options_.width > 1) {
        gaps_.resize(options_.width);
        cores_.reserve(options_.width);
    }
}

void Run::prepare(ovt_sched_process& process) {
    for (std::size_t i = 0; i < segments_.size(); i++)
        scheduled_[i] = {estimate(i).ns(),
                         is_group(i) ? segments_[i].group.fc_count : segments_[i].fc_count};
    task_.run = this;
    task_.process = &process;
    task_.segments = scheduled_.data();
    task_.segment_count = static_cast<u32>(scheduled_.size());
    task_.priority = options_.priority;
    task_.core = options_.core;
    if (options_.core == core_any && std::has_single_bit(options_.cores))
        task_.core = static_cast<u32>(std::countr_zero(options_.cores)) + 1;
    if (options_.width > 1) {
        span_ = {.width = options_.width, .gaps = gaps_.data(), .cores = 0};
        task_.span = &span_;
    }
    task_.custom_id = options_.custom_id;
    task_.deadline = options_.deadline_ns;
}

std::vector<SegmentRecord> Run::segment_records() const {
    std::vector<SegmentRecord> segments;
    for (std::size_t i = 0; i < segments_.size(); i++)
        segments.push_back(
            {records_[i].start_ns, records_[i].end_ns, segments_[i].on_bpu(), records_[i].job});
    return segments;
}

} // namespace overtake::engine
