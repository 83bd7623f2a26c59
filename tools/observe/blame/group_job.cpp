// SPDX-License-Identifier: MIT
#include "observe/blame/group_job.hpp"

#include <algorithm>
#include <utility>

#include "overtake_accel.h"

namespace overtake::blame {

void GroupJob::submit(Cores& cores, std::uint32_t part, Cores::Place place, bool high,
                      std::uint32_t fc_count, std::uint64_t time) {
    if (part >= OVERTAKE_MAX_CORES || has(part) || fc_count == 0)
        return;
    if (parts_.size() <= part)
        parts_.resize(part + 1);
    Part& of = parts_[part];
    of.place = place;
    of.fc_count = fc_count;
    of.since = time;
    of.snapshot = of.stage_end = cores.snapshot(place, time);
    if (high)
        of.ticket = cores.enter_high(place, owner_, time);
    last_end_ = time;
}

/// Between stages, nothing but the group's sync keeps an idle core from the part.
void GroupJob::wait_until(Cores& cores, Part& part, std::uint64_t time) {
    cores.add_of_group(part.place, part.snapshot, part.since, time, part.time,
                       stage_ != 0 && !part.began ? Cause::stages : Cause::host, part.ticket);
    part.since = time;
}

/// Adds the time of the stage, up to the end of its last FC, to `parts`.
void GroupJob::commit(Parts& parts) {
    if (critical_)
        parts.add(parts_[*critical_].time);
    critical_.reset();
}

void GroupJob::open_stage(Cores& cores, std::uint32_t stage, Parts& parts) {
    cores.count_steps(parts_.size());
    commit(parts);
    stage_ = stage;
    running_ = 0;
    for (Part& of : parts_) {
        of.runs = of.began = false;
        of.since = last_end_;
        of.snapshot = of.stage_end;
        of.time = {};
    }
}

void GroupJob::start(Cores& cores, std::uint32_t part, std::uint32_t stage, std::uint64_t time,
                     Parts& parts) {
    if (!has(part))
        return;
    if (stage > stage_)
        open_stage(cores, stage, parts);
    Part& of = parts_[part];
    wait_until(cores, of, time);
    running_ += !of.runs;
    of.runs = of.began = true;
}

void GroupJob::end_fc(Cores& cores, std::uint32_t part, std::uint32_t fc_index,
                      std::uint64_t time) {
    if (!has(part))
        return;
    Part& of = parts_[part];
    if (of.runs) {
        of.time.add(part_key(Cause::running), time - of.since);
        running_--;
    } else {
        wait_until(cores, of, time); // the event of the FC's start is missing
    }
    of.runs = false;
    of.since = time;
    of.snapshot = cores.snapshot(of.place, time);
    last_end_ = time;
    critical_ = part;
    if (fc_index + 1 >= of.fc_count) {
        of.over = true;
        if (of.ticket)
            cores.leave_high(of.place, *std::exchange(of.ticket, {}), time);
    }
    if (running_ != 0)
        return;
    cores.count_steps(parts_.size());
    for (Part& each : parts_)
        if (each.fc_count != 0)
            each.stage_end = cores.snapshot(each.place, time);
}

void GroupJob::end(Cores& cores, std::uint64_t time, Parts& parts) {
    const auto running = std::ranges::find_if(parts_, &Part::runs);
    const auto waiting =
        std::ranges::find_if(parts_, [](const Part& of) { return of.fc_count != 0 && !of.over; });
    if (running != parts_.end()) { // the running FC was stopped
        running->time.add(part_key(Cause::running), time - running->since);
        parts.add(running->time);
        for (const Part& of : parts_)
            if (of.runs)
                cores.stop(of.place, time);
    } else {
        commit(parts);
        if (waiting == parts_.end())
            parts.add(part_key(Cause::host), time - last_end_);
        else // the job was cancelled; an idle core may have waited only for the job's next stage
            cores.add_of_group(waiting->place, waiting->stage_end, last_end_, time, parts,
                               Cause::stages, waiting->ticket);
    }
    leave(cores, time);
}

void GroupJob::leave(Cores& cores, std::uint64_t time) {
    for (Part& of : parts_)
        if (of.ticket)
            cores.leave_high(of.place, *std::exchange(of.ticket, {}), time);
}

} // namespace overtake::blame
