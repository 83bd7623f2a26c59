// SPDX-License-Identifier: MIT
#include "observe/timeline/jobs.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

namespace overtake::timeline {
namespace {

/// The time between two FCs of a job.
struct Gap {
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::size_t job;
    std::size_t position; ///< position of the later FC
};

std::vector<Job> gather(const Timeline& timeline) {
    std::vector<const Fc*> sorted;
    sorted.reserve(timeline.fcs.size());
    for (const Fc& fc : timeline.fcs)
        sorted.push_back(&fc);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Fc* a, const Fc* b) {
        return std::tie(a->start_ns, a->end_ns) < std::tie(b->start_ns, b->end_ns);
    });
    std::vector<Job> jobs;
    std::map<std::tuple<std::string_view, std::uint64_t, unsigned, std::uint32_t, bool>,
             std::size_t>
        open;
    for (const Fc* fc : sorted) {
        const auto [place, is_new] =
            open.try_emplace({fc->task, fc->tag, fc->core, fc->part, fc->high}, 0);
        if (is_new || jobs[place->second].fcs.back()->index >= fc->index) {
            place->second = jobs.size();
            jobs.push_back({});
        }
        jobs[place->second].fcs.push_back(fc);
    }
    return jobs;
}

/// Returns the gaps of the NORMAL jobs, by core and in order of time.
std::map<unsigned, std::vector<Gap>> gaps_of(const std::vector<Job>& jobs) {
    std::map<unsigned, std::vector<Gap>> gaps;
    for (std::size_t job = 0; job < jobs.size(); job++) {
        const auto& fcs = jobs[job].fcs;
        if (fcs.front()->high)
            continue;
        for (std::size_t at = 1; at < fcs.size(); at++)
            gaps[fcs[at]->core].push_back({fcs[at - 1]->end_ns, fcs[at]->start_ns, job, at});
    }
    for (auto& [core, of_core] : gaps)
        std::stable_sort(of_core.begin(), of_core.end(),
                         [](const Gap& a, const Gap& b) { return a.start_ns < b.start_ns; });
    return gaps;
}

} // namespace

std::string fc_text(const Fc& fc) {
    if (!fc.what.empty())
        return fc.what;
    if (!fc.stage && fc.part == 0)
        return fmt::format("FC {}", fc.index);
    return fmt::format("part {} FC {}{}", fc.part, fc.index,
                       fc.stage ? fmt::format(" of stage {}", *fc.stage) : "");
}

std::vector<Job> jobs_of(const Timeline& timeline) {
    std::vector<Job> jobs = gather(timeline);
    const auto gaps = gaps_of(jobs);
    for (const Preemption& preemption : timeline.preemptions) {
        const auto of_core = gaps.find(preemption.core);
        if (of_core == gaps.end())
            continue;
        auto gap = std::upper_bound(
            of_core->second.begin(), of_core->second.end(), preemption.time_ns,
            [](std::uint64_t time, const Gap& candidate) { return time < candidate.start_ns; });
        // A ring is first in, first out: without a tag, the preempted job is the one whose gap
        // began last.
        while (gap != of_core->second.begin()) {
            --gap;
            const bool same =
                preemption.tag == 0 || jobs[gap->job].fcs.front()->tag == preemption.tag;
            if (same && gap->end_ns > preemption.time_ns)
                jobs[gap->job].preempted_before.push_back(gap->position);
            if (same)
                break;
        }
    }
    for (Job& job : jobs) {
        auto& at = job.preempted_before;
        std::sort(at.begin(), at.end());
        at.erase(std::unique(at.begin(), at.end()), at.end());
    }
    return jobs;
}

} // namespace overtake::timeline
