// SPDX-License-Identifier: MIT
#include "coordination/coordinated_task.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "engine/guarded_compute.hpp"
#include "overtake/error.hpp"

namespace overtake::coordination {

namespace {

constexpr std::size_t most_records_for_retries = 16;

} // namespace

CoordinatedTask::CoordinatedTask(std::span<const engine::TaskSegment> segments,
                                 const engine::RunOptions& options, std::shared_ptr<void> memory,
                                 std::size_t processors, bool takes_whole_tasks)
    : SubmittedTask(std::move(memory)), stages_(segments.begin(), segments.end()),
      options_(options) {
    std::size_t units = 1;
    std::size_t all_units = 0;
    for (const engine::TaskSegment& stage : stages_) {
        if (!stage.whole)
            continue;
        const std::size_t count = stage.whole->model().table().units.size();
        units = std::max(units, count);
        all_units += count;
    }
    coord_.owner = this;
    runs_.resize(units);
    for (std::size_t u = 0; u < units; u++) {
        unit_runs_.emplace_back();
        unit_runs_.back().task = this;
        unit_runs_.back().described = &runs_[u];
        runs_[u].host = &unit_runs_.back();
        unit_jobs_.emplace_back();
        unit_jobs_.back().unit = static_cast<std::uint32_t>(u);
    }
    links_.resize(takes_whole_tasks ? processors : 0);
    records_.reserve(all_units + most_records_for_retries);
}

std::vector<SegmentRecord> CoordinatedTask::segment_records() const {
    std::vector<SegmentRecord> segments;
    for (const Record& run : records_)
        segments.push_back({run.start_ns, run.end_ns, run.on_core, run.job});
    return segments;
}

void CoordinatedTask::add_record(const UnitRun& run) {
    if (records_.size() == records_.capacity())
        return;
    std::int32_t status = run.status;
    if (run.outcome == RunOutcome::failed)
        status = -EIO;
    else if (run.outcome == RunOutcome::cancelled)
        status = -ECANCELED;
    records_.push_back({run.described->number, run.described->units, run.described->processor,
                        run.described->dispatch_time, run.start_ns, run.end_ns, run.executed_ns,
                        status, run.job.core != 0, run.job});
}

void CoordinatedTask::lose_processors(std::size_t unit) noexcept {
    if (failure_ != 0)
        return;
    failure_ = -ENODEV;
    std::array<char, 120> text{};
    std::snprintf(text.data(), text.size(),
                  "unit %zu: the devices of all processors that could run it have ended", unit);
    set_error(text.data());
}

std::vector<RunRecord> CoordinatedTask::run_records() const {
    std::vector<RunRecord> runs;
    for (const Record& run : records_)
        runs.push_back({run.number, run.units, (*names_)[run.processor], run.dispatched_ns,
                        run.start_ns, run.end_ns, run.status});
    return runs;
}

std::vector<MeasuredRun> CoordinatedTask::measured_runs() const {
    std::vector<MeasuredRun> runs;
    for (const Record& run : records_)
        if (run.status == 0)
            runs.push_back({run.units, run.processor, run.executed_ns});
    return runs;
}

void CoordinatedTask::SideWork::run(ThreadMemory& /*memory*/) noexcept {
    const std::shared_ptr<CoordinatedTask> task = task_.shared();
    const engine::TaskSegment& stage = task->stages_[task->stage_];
    task->side_status_ = engine::compute_guarded(*task, [&] {
        switch (task->side_) {
        case Side::fill:
            stage.whole->fill();
            break;
        case Side::drain:
            stage.whole->drain();
            break;
        case Side::compute:
            return stage.work->compute(stage.number);
        case Side::none:
            break;
        }
        return 0;
    });
    task->side_host_->side_work_ended(task);
}

void CoordinatedTask::EndWork::run(ThreadMemory& /*memory*/) noexcept {
    const std::shared_ptr<CoordinatedTask> task = std::move(task_.ending_self_);
    task->finish(task->failure_, task->end_ns_);
    task->side_host_->task_ended(task);
}

} // namespace overtake::coordination
