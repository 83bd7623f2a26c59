// SPDX-License-Identifier: MIT
#include "oracle.hpp"

#include <algorithm>
#include <deque>
#include <set>

namespace overtake::test {

namespace {

struct Fc {
    std::size_t job;
    unsigned index;
};

struct Core {
    std::deque<Fc> high;
    std::deque<Fc> normal;
    std::deque<Fc> committed;
    std::optional<Fc> running;
    std::uint64_t running_until = 0;

    std::size_t unfinished() const {
        return high.size() + normal.size() + committed.size() + (running ? 1 : 0);
    }
};

struct JobState {
    bool arrived = false;
    bool over = false;
    bool cancelled = false;
    unsigned core = 0; ///< from 1
    std::size_t sequence = 0;
    unsigned ended_fcs = 0;
    std::optional<std::uint64_t> start;
    std::uint64_t end = 0;
};

class Simulation {
public:
    explicit Simulation(const Scenario& scenario)
        : scenario_(scenario), cores_(scenario.cores), jobs_(scenario.jobs.size()) {
        for (const ScenarioJob& job : scenario.jobs)
            instants_.insert(job.at);
        for (const ScenarioCancel& cancel : scenario.cancels)
            instants_.insert(cancel.at);
    }

    Timeline run() {
        while (!instants_.empty()) {
            now_ = *instants_.begin();
            instants_.erase(instants_.begin());
            end_fcs();
            arrive();
            cancel();
            choose();
        }
        return timeline();
    }

private:
    void end_fcs() {
        for (Core& core : cores_) {
            if (!core.running || core.running_until != now_)
                continue;
            JobState& job = jobs_[core.running->job];
            job.ended_fcs++;
            if (job.cancelled || job.ended_fcs == scenario_.jobs[core.running->job].fcs.size())
                finish(job);
            core.running.reset();
        }
    }

    void finish(JobState& job) {
        job.over = true;
        job.end = now_;
    }

    void arrive() {
        for (std::size_t i = 0; i < scenario_.jobs.size(); i++) {
            const ScenarioJob& job = scenario_.jobs[i];
            if (job.at != now_)
                continue;
            JobState& state = jobs_[i];
            state.arrived = true;
            state.sequence = next_sequence_++;
            state.core = job.core != 0 ? job.core : emptiest_core();
            Core& core = cores_[state.core - 1];
            for (unsigned index = 0; index < job.fcs.size(); index++)
                (job.priority == 255 ? core.high : core.normal).push_back({i, index});
        }
    }

    unsigned emptiest_core() const {
        const auto fewest = std::ranges::min_element(cores_, {}, &Core::unfinished);
        return static_cast<unsigned>(fewest - cores_.begin()) + 1;
    }

    void cancel() {
        for (const ScenarioCancel& cancel : scenario_.cancels) {
            if (cancel.at != now_ || jobs_[cancel.job].over || jobs_[cancel.job].cancelled)
                continue;
            JobState& state = jobs_[cancel.job];
            state.cancelled = true;
            Core& core = cores_[state.core - 1];
            for (std::deque<Fc>* list : {&core.high, &core.normal, &core.committed})
                std::erase_if(*list, [&](const Fc& fc) { return fc.job == cancel.job; });
            if (!core.running || core.running->job != cancel.job)
                finish(state);
        }
    }

    void choose() {
        for (std::size_t i = 0; i < cores_.size(); i++) {
            Core& core = cores_[i];
            if (core.running)
                continue;
            if (std::deque<Fc>* from = next_list(core, scenario_.core_limits[i])) {
                const Fc fc = from->front();
                from->pop_front();
                start(core, static_cast<unsigned>(i) + 1, fc);
            }
        }
    }

    /// The list whose head runs next; commits a batch if it is time to.
    std::deque<Fc>* next_list(Core& core, unsigned limit) {
        if (limit == 0) {
            if (core.high.empty() && core.normal.empty())
                return nullptr;
            if (core.high.empty())
                return &core.normal;
            if (core.normal.empty())
                return &core.high;
            const bool high_first =
                jobs_[core.high.front().job].sequence < jobs_[core.normal.front().job].sequence;
            return high_first ? &core.high : &core.normal;
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

    void start(Core& core, unsigned number, const Fc& fc) {
        const ScenarioJob& job = scenario_.jobs[fc.job];
        const std::uint64_t end = now_ + job.fcs[fc.index];
        if (!jobs_[fc.job].start)
            jobs_[fc.job].start = now_;
        core.running = fc;
        core.running_until = end;
        instants_.insert(end);
        fcs_.push_back({job.id, fc.index, number, job.priority == 255, now_, end});
    }

    Timeline timeline() {
        Timeline timeline;
        timeline.fcs = fcs_;
        timeline.sort_fcs();
        for (const std::size_t i : arrival_order(scenario_)) {
            const JobState& state = jobs_[i];
            timeline.jobs.push_back({scenario_.jobs[i].id, state.core, scenario_.jobs[i].at,
                                     state.start, state.end, preemptions(scenario_.jobs[i]),
                                     state.cancelled});
        }
        return timeline;
    }

    /// Between how many neighbouring FCs of the job a HIGH FC ran on its core, by looking.
    unsigned preemptions(const ScenarioJob& job) const {
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

    const Scenario& scenario_;
    std::vector<Core> cores_;
    std::vector<JobState> jobs_;
    std::set<std::uint64_t> instants_;
    std::uint64_t now_ = 0;
    std::size_t next_sequence_ = 0;
    std::vector<TimelineFc> fcs_;
};

} // namespace

Timeline oracle_timeline(const Scenario& scenario) {
    return Simulation(scenario).run();
}

} // namespace overtake::test
