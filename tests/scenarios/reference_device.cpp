// SPDX-License-Identifier: MIT
#include "reference_device.hpp"

#include <algorithm>
#include <iterator>

namespace overtake::test {

ReferenceDevice::ReferenceDevice(std::vector<unsigned> core_limits)
    : core_limits_(std::move(core_limits)), cores_(core_limits_.size()) {}

std::size_t ReferenceDevice::submit(std::uint64_t now, std::string id, unsigned core,
                                    unsigned priority, std::vector<std::uint64_t> fcs) {
    const std::size_t number = jobs_.size();
    if (core == 0)
        core = emptiest_core();
    Core& target = cores_[core - 1];
    for (unsigned index = 0; index < fcs.size(); index++)
        (priority == 255 ? target.high : target.normal).push_back({number, index});
    jobs_.push_back({.id = std::move(id),
                     .fcs = std::move(fcs),
                     .priority = priority,
                     .core = core,
                     .arrival = now});
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
        if (std::deque<Fc>* from = next_list(core, core_limits_[i])) {
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

/// The list whose head runs next; commits a batch if it is time to.
std::deque<ReferenceDevice::Fc>* ReferenceDevice::next_list(Core& core, unsigned limit) {
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

/// Between how many neighbouring FCs of the job a HIGH FC ran on its core, by looking.
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
