// SPDX-License-Identifier: MIT
#include "reference_device.hpp"

#include <algorithm>
#include <iterator>

namespace overtake::test {

namespace {

/// The FCs that a hardware ring holds, which is also the longest batch of a fair device.
constexpr unsigned longest_fair_batch = 64;

} // namespace

ReferenceDevice::ReferenceDevice(std::vector<unsigned> core_limits, bool fair)
    : core_limits_(std::move(core_limits)), fair_(fair), cores_(core_limits_.size()) {}

std::size_t ReferenceDevice::submit(std::uint64_t now, std::string id, unsigned core,
                                    unsigned priority, const std::string& context,
                                    std::vector<std::uint64_t> fcs) {
    const std::size_t number = jobs_.size();
    if (core == 0)
        core = emptiest_core();
    Core& target = cores_[core - 1];
    for (unsigned index = 0; index < fcs.size(); index++)
        (priority == 255 ? target.high : target.normal).push_back({number, index});
    jobs_.push_back({.id = std::move(id),
                     .fcs = std::move(fcs),
                     .priority = priority,
                     .context = context,
                     .core = core,
                     .arrival = now});
    if (fair_ && priority != 255 &&
        std::ranges::find(target.circle, context) == target.circle.end())
        target.circle.push_back(context);
    return number;
}

void ReferenceDevice::cancel(std::uint64_t now, std::size_t number) {
    Job& job = jobs_[number];
    if (job.over || job.cancelled)
        return;
    job.cancelled = true;
    Core& core = cores_[job.core - 1];
    for (std::deque<Fc>* list : {&core.high, &core.normal, &core.committed})
        std::erase_if(*list, [&](const Fc& fc) { return fc.job == number; });
    leave_circle_without_fcs(core);
    if (!runs(number))
        finish(now, job);
}

std::optional<std::uint64_t> ReferenceDevice::next_end() const {
    std::optional<std::uint64_t> next;
    for (const Core& core : cores_)
        if (core.running && (!next || core.running_until < *next))
            next = core.running_until;
    return next;
}

std::vector<std::size_t> ReferenceDevice::ending(std::uint64_t now) const {
    std::vector<std::size_t> jobs;
    for (const Core& core : cores_)
        if (core.running && core.running_until == now)
            jobs.push_back(core.running->job);
    return jobs;
}

void ReferenceDevice::end_fc(std::uint64_t now, std::size_t number) {
    Job& job = jobs_[number];
    cores_[job.core - 1].running.reset();
    job.ended_fcs++;
    if (job.cancelled || job.ended_fcs == job.fcs.size())
        finish(now, job);
}

void ReferenceDevice::choose(std::uint64_t now) {
    for (std::size_t i = 0; i < cores_.size(); i++) {
        Core& core = cores_[i];
        if (core.running)
            continue;
        if (core.committed.empty())
            core.limit_in_force = core_limits_[i];
        if (std::deque<Fc>* from = next_list(core, core.limit_in_force)) {
            const Fc fc = from->front();
            from->pop_front();
            start(now, static_cast<unsigned>(i) + 1, fc);
        }
    }
}

std::size_t ReferenceDevice::unfinished(unsigned number) const {
    const Core& core = cores_[number - 1];
    return core.high.size() + core.normal.size() + core.committed.size() + (core.running ? 1 : 0);
}

Timeline ReferenceDevice::timeline() const {
    Timeline timeline;
    timeline.fcs = fcs_;
    timeline.sort_fcs();
    for (const Job& job : jobs_)
        timeline.jobs.push_back(
            {job.id, job.core, job.arrival, job.start, job.end, preemptions(job), job.cancelled});
    return timeline;
}

unsigned ReferenceDevice::emptiest_core() const {
    unsigned emptiest = 1;
    for (unsigned core = 2; core <= cores_.size(); core++)
        if (unfinished(core) < unfinished(emptiest))
            emptiest = core;
    return emptiest;
}

bool ReferenceDevice::runs(std::size_t job) const {
    return std::ranges::any_of(
        cores_, [&](const Core& core) { return core.running && core.running->job == job; });
}

void ReferenceDevice::finish(std::uint64_t now, Job& job) {
    job.over = true;
    job.end = now;
}

/// Returns the list whose head runs next; commits a batch first if a new one begins.
std::deque<ReferenceDevice::Fc>* ReferenceDevice::next_list(Core& core, unsigned limit) {
    if (fair_)
        return next_list_fair(core, limit);
    if (limit == 0) {
        if (core.high.empty() && core.normal.empty())
            return nullptr;
        if (core.high.empty())
            return &core.normal;
        if (core.normal.empty())
            return &core.high;
        // Jobs are numbered in arrival order.
        return core.high.front().job < core.normal.front().job ? &core.high : &core.normal;
    }
    if (!core.committed.empty())
        return &core.committed;
    if (!core.high.empty())
        return &core.high;
    while (core.committed.size() < limit && !core.normal.empty()) {
        core.committed.push_back(core.normal.front());
        core.normal.pop_front();
    }
    return core.committed.empty() ? nullptr : &core.committed;
}

std::deque<ReferenceDevice::Fc>* ReferenceDevice::next_list_fair(Core& core, unsigned limit) {
    if (!core.committed.empty())
        return &core.committed;
    if (core.circle.empty())
        return core.high.empty() ? nullptr : &core.high;
    if (!core.high.empty() &&
        (limit != 0 || core.high.front().job < first_of(core, core.circle.front())->job))
        return &core.high;
    const unsigned most = std::min(std::max(limit, 1u), longest_fair_batch);
    while (core.committed.size() < most && !core.circle.empty())
        take_by_turn(core);
    return &core.committed;
}

/// Returns the context's oldest FC in NORMAL.
std::deque<ReferenceDevice::Fc>::iterator ReferenceDevice::first_of(Core& core,
                                                                    const std::string& context) {
    return std::ranges::find_if(core.normal,
                                [&](const Fc& fc) { return jobs_[fc.job].context == context; });
}

void ReferenceDevice::take_by_turn(Core& core) {
    const auto fc = first_of(core, core.circle.front());
    if (!core.left_of_turn)
        core.left_of_turn = 1 + jobs_[fc->job].priority / 32;
    --*core.left_of_turn;
    core.committed.push_back(*fc);
    core.normal.erase(fc);
    leave_circle_without_fcs(core);
    if (core.left_of_turn == 0u) {
        std::ranges::rotate(core.circle, core.circle.begin() + 1);
        core.left_of_turn.reset();
    }
}

void ReferenceDevice::leave_circle_without_fcs(Core& core) {
    for (std::size_t i = 0; i < core.circle.size();) {
        if (first_of(core, core.circle[i]) != core.normal.end()) {
            i++;
            continue;
        }
        core.circle.erase(core.circle.begin() + static_cast<std::ptrdiff_t>(i));
        if (i == 0)
            core.left_of_turn.reset();
    }
}

void ReferenceDevice::start(std::uint64_t now, unsigned core_number, const Fc& fc) {
    Job& job = jobs_[fc.job];
    const std::uint64_t end = now + job.fcs[fc.index];
    if (!job.start)
        job.start = now;
    Core& core = cores_[core_number - 1];
    core.running = fc;
    core.running_until = end;
    fcs_.push_back({job.id, fc.index, core_number, job.priority == 255, now, end});
}

/// Counts the pairs of neighbouring FCs of the job between which a HIGH FC ran on its core.
unsigned ReferenceDevice::preemptions(const Job& job) const {
    if (job.priority == 255)
        return 0;
    std::vector<TimelineFc> own;
    std::ranges::copy_if(fcs_, std::back_inserter(own),
                         [&](const TimelineFc& fc) { return fc.job == job.id; });
    unsigned count = 0;
    for (std::size_t i = 1; i < own.size(); i++)
        count += std::ranges::any_of(fcs_, [&](const TimelineFc& fc) {
            return fc.high && fc.core == own[i].core && fc.start >= own[i - 1].end &&
                   fc.end <= own[i].start;
        });
    return count;
}

} // namespace overtake::test
