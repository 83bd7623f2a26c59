// SPDX-License-Identifier: MIT
#include "observe/blame/blame.hpp"

#include <cerrno>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "drop_oldest.hpp"
#include "observe/blame/cores.hpp"
#include "observe/blame/group_job.hpp"
#include "observe/blame/tasks.hpp"
#include "overtake/device.hpp"

namespace overtake::blame {

std::vector<Part> Parts::list(const Owners& owners) const {
    std::map<std::pair<Cause, Who>, std::uint64_t> sorted;
    for (const auto& [key, ns] : sums_) {
        const auto cause = static_cast<Cause>(key % cause_count);
        const Who by =
            has_blocker(cause) ? owners.who(key / static_cast<std::uint32_t>(cause_count)) : Who{};
        sorted[{cause, by}] += ns;
    }
    std::vector<Part> list;
    for (const auto& [part, ns] : sorted)
        list.push_back({part.first, part.second, ns});
    return list;
}

class Blame::State {
public:
    State(Options options, std::function<void(const Report&)> report, bool every_job)
        : options_(std::move(options)), report_(std::move(report)), every_job_(every_job),
          owners_(options_.most_owners),
          tasks_(options_, owners_,
                 [this](const Report& of, const Parts& parts) { tell(of, parts); }) {}

    void add(const Event& event) {
        if (event.time_ns < now_)
            throw Error(EINVAL, fmt::format("an event {} at {} ns comes after one at {} ns",
                                            event_type_name(event.type), event.time_ns, now_));
        now_ = event.time_ns;
        if (event.type >= EventType::task_arrive)
            tasks_.add(event);
        else
            add_of_device(event);
    }

    void lost(bool of_engines_alone) {
        if (!of_engines_alone)
            for (auto& [identity, job] : jobs_)
                job.report.incomplete = true;
        tasks_.lost(of_engines_alone);
    }

    std::vector<std::uint32_t> processes() const {
        std::set<std::uint32_t> pids;
        tasks_.add_processes(pids);
        for (const auto& [identity, job] : jobs_)
            pids.insert(job.report.who.pid);
        return {pids.begin(), pids.end()};
    }

    void forget(const std::set<std::uint32_t>& pids) {
        tasks_.forget(pids, now_);
        for (auto job = jobs_.begin(); job != jobs_.end();)
            job = pids.contains(job->second.report.who.pid) ? drop(job) : std::next(job);
    }

    std::uint64_t dropped() const { return dropped_ + tasks_.dropped(); }
    std::uint64_t unknown_owners() const { return owners_.unknown(); }
    bool tasks_recorded() const { return tasks_.recorded(); }
    std::size_t live() const { return jobs_.size() + tasks_.live(); }
    std::uint64_t steps() const { return cores_.steps() + tasks_.steps(); }

private:
    enum class Stage : std::uint8_t {
        queued,  ///< not yet on its core
        waiting, ///< on its core, and none of its FCs runs
        running,
        finished, ///< all its FCs have ended
    };

    struct Job {
        Report report;
        Parts parts;
        Stage stage = Stage::queued;
        std::uint64_t since = 0; ///< the job's parts have its time up to this moment
        Meter::Snapshot snapshot;
        std::uint32_t owner = 0;
        std::uint32_t fc_count = 0;
        std::uint32_t segment = 0;
        bool of_task = false;
        Identity task{};
        std::unique_ptr<GroupJob> group{}; ///< empty: the job has one part
    };

    using Live = std::unordered_map<Identity, Job, IdentityHash>;

    static Identity identity_of(const Event& event) {
        return {event.device, event.context, event.client, event.tag};
    }

    void add_of_device(const Event& event) {
        if (event.type == EventType::job_queue) {
            queue(event);
            return;
        }
        if (event.type == EventType::core_reset) {
            cores_.stop({event.device, event.core}, event.time_ns);
            return;
        }
        auto found = jobs_.find(identity_of(event));
        // The driver does not report when jobs are queued.
        if (found == jobs_.end() && event.type == EventType::fc_submit) {
            queue(event);
            found = jobs_.find(identity_of(event));
        }
        Job* job = found == jobs_.end() ? nullptr : &found->second;
        switch (event.type) {
        case EventType::fc_submit:
            submit(*job, event);
            break;
        case EventType::fc_start:
            start(job, event);
            break;
        case EventType::fc_done:
            cores_.stop({event.device, event.core}, event.time_ns);
            if (job != nullptr)
                end_fc(*job, event);
            break;
        case EventType::fc_preempt:
            if (job != nullptr)
                job->report.preemptions++;
            break;
        case EventType::job_done:
            if (job == nullptr)
                break;
            end(*job, event);
            jobs_.erase(found);
            break;
        default:
            break;
        }
    }

    void queue(const Event& event) {
        if (jobs_.size() >= options_.most_live)
            dropped_ += drop_oldest(
                jobs_, [](const auto& of) { return of.second.report.arrival_ns; },
                [this](Live::iterator oldest) { return drop(oldest); });
        if (const auto other = jobs_.find(identity_of(event)); other != jobs_.end())
            drop(other);
        Job& job = jobs_[identity_of(event)];
        job.report.who = {event.client, event.model, event.pid};
        job.report.tag = event.tag;
        job.report.device = event.device;
        job.report.context = event.context;
        job.report.priority = event.priority;
        job.report.custom_id = event.custom_id;
        job.report.arrival_ns = event.time_ns;
        job.report.task = event.task;
        job.since = event.time_ns;
        job.fc_count = event.fc_count;
        job.segment = event.segment;
        job.task = tasks_.task_of(event);
        job.of_task = event.task != 0 && tasks_.job_queued(event);
        // The culprit for the job's FCs is the owner of its task, even if the job names another
        // client.
        job.owner = job.of_task ? tasks_.owner_of(job.task) : owners_.number(job.report.who);
    }

    Cores::Place place_of(const Job& job) const { return {job.report.device, job.report.core}; }

    void wait(Job& job, std::uint64_t time) {
        job.stage = Stage::waiting;
        job.snapshot = cores_.snapshot(place_of(job), time);
    }

    /// Ends the job's stage.
    void close(Job& job, std::uint64_t time) {
        if (job.stage == Stage::waiting)
            cores_.add_since(place_of(job), job.snapshot, job.since, time, job.parts);
        else
            job.parts.add(part_key(job.stage == Stage::running ? Cause::running : Cause::host),
                          time - job.since);
        job.since = time;
        job.snapshot = {};
    }

    /// Erases a job whose end was lost.
    Live::iterator drop(Live::iterator job) {
        if (job->second.group)
            job->second.group->leave(cores_, now_);
        return jobs_.erase(job);
    }

    /// Adds a part of a group. The event of the group's first part looks like that of a whole job.
    void submit_part(Job& job, const Event& event) {
        if (!job.group) {
            if (job.stage != Stage::waiting)
                return; // events are missing
            close(job, event.time_ns);
            job.group = std::make_unique<GroupJob>(job.owner);
            job.group->submit(cores_, 0, place_of(job), event.high, job.fc_count, event.time_ns);
        }
        tasks_.see_core(event.device, event.core);
        job.group->submit(cores_, event.part, {event.device, event.core}, event.high,
                          event.fc_count, event.time_ns);
    }

    void submit(Job& job, const Event& event) {
        if (event.part != 0) {
            submit_part(job, event);
            return;
        }
        close(job, event.time_ns);
        tasks_.see_core(event.device, event.core);
        job.report.core = event.core;
        job.fc_count = event.fc_count;
        wait(job, event.time_ns);
        if (job.of_task)
            tasks_.job_on_core(job.task, event.core, event.time_ns);
    }

    void start(Job* job, const Event& event) {
        std::uint32_t owner = 0;
        if (job != nullptr) {
            if (job->report.core == 0) {
                job->report.core = event.core; // the job's fc_submit is missing
                job->report.incomplete = true;
            }
            if (job->group) {
                job->group->start(cores_, event.part, event.stage, event.time_ns, job->parts);
            } else {
                close(*job, event.time_ns);
                job->stage = Stage::running;
            }
            owner = job->owner;
        } else {
            owner = owners_.number({event.client, 0, event.pid});
        }
        cores_.start({event.device, event.core}, owner, event.high, event.time_ns);
    }

    void end_fc(Job& job, const Event& event) {
        if (job.group) {
            job.group->end_fc(cores_, event.part, event.fc_index, event.time_ns);
            return;
        }
        close(job, event.time_ns);
        if (event.fc_index + 1 >= job.fc_count)
            job.stage = Stage::finished;
        else
            wait(job, event.time_ns);
    }

    void end(Job& job, const Event& event) {
        if (!job.group && job.stage == Stage::running)
            cores_.stop(place_of(job), event.time_ns); // the running FC was stopped
        if (job.group)
            job.group->end(cores_, event.time_ns, job.parts);
        else
            close(job, event.time_ns);
        job.report.end_ns = event.time_ns;
        job.report.status = event.status;
        if (job.of_task)
            tasks_.job_done(job.task, job.segment, job.report.preemptions, job.parts,
                            event.time_ns);
        if (!job.of_task || every_job_)
            tell(job.report, job.parts);
    }

    void tell(Report report, const Parts& parts) {
        report.parts = parts.list(owners_);
        // A process may pass the probes of its engine in any order. Where events were lost, a part
        // may have no end.
        const bool may_be_wrong = report.who.client >= engine_client || report.incomplete;
        if (may_be_wrong && parts.total() != report.latency_ns())
            return;
        if (parts.total() != report.latency_ns())
            throw std::logic_error(
                fmt::format("{} {} of client {}: {} ns, but its parts make {} ns",
                            report.is_task ? "task" : "job", report.tag, report.who.client,
                            report.latency_ns(), parts.total()));
        report_(report);
    }

    Options options_;
    std::function<void(const Report&)> report_;
    bool every_job_;
    Owners owners_;
    Cores cores_;
    Tasks tasks_;
    Live jobs_;
    std::uint64_t now_ = 0;
    std::uint64_t dropped_ = 0;
};

Blame::Blame(Options options, std::function<void(const Report&)> report, bool every_job)
    : state_(std::make_unique<State>(std::move(options), std::move(report), every_job)) {}

Blame::~Blame() = default;

void Blame::add(const Event& event) {
    state_->add(event);
}

void Blame::lost(bool of_engines_alone) {
    state_->lost(of_engines_alone);
}

std::vector<std::uint32_t> Blame::processes() const {
    return state_->processes();
}

void Blame::forget(const std::set<std::uint32_t>& pids) {
    state_->forget(pids);
}

std::uint64_t Blame::dropped() const {
    return state_->dropped();
}

std::uint64_t Blame::unknown_owners() const {
    return state_->unknown_owners();
}

bool Blame::tasks_recorded() const {
    return state_->tasks_recorded();
}

std::size_t Blame::live() const {
    return state_->live();
}

std::uint64_t Blame::steps() const {
    return state_->steps();
}

} // namespace overtake::blame
