// SPDX-License-Identifier: MIT
#include "processors_invariants.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "processors_format.hpp"
#include "processors_seen.hpp"
#include "reference_device.hpp"

namespace overtake::test {

using nlohmann::json;

namespace processors {

namespace {

class Checker {
public:
    Checker(const json& scenario, const json& timeline) : seen_(scenario, timeline) {
        check_jobs(timeline.at("jobs"));
    }

    std::vector<std::string> violations() {
        for (const SeenRun& run : runs_)
            check_run(run);
        for (std::size_t processor = 0; processor < scenario_.processors.size(); processor++)
            if (scenario_.processors[processor].pool)
                check_pool(processor);
            else
                check_core(processor);
        for (std::size_t task = 0; task < tasks_.size(); task++)
            check_task(task);
        check_triggers();
        return std::move(violations_);
    }

private:
    /// Checks that the jobs are the runs on cores, in the same order.
    void check_jobs(const json& jobs) {
        std::size_t job = 0;
        for (const SeenRun& run : runs_) {
            if (scenario_.processors[run.processor].pool)
                continue;
            expect(job < jobs.size() && is_job_of(jobs[job], run), run.name, "has its job");
            job++;
        }
        expect(job == jobs.size(), "timeline", "has a run for each job");
    }

    bool is_job_of(const json& job, const SeenRun& run) const {
        return job.at("id") == run.name &&
               job.at("core") == scenario_.processors[run.processor].core_number &&
               job.at("arrival") == run.dispatched && job.at("end") == run.end &&
               time_or_none(job.at("start")) == run.start &&
               job.at("cancelled") == (run.status == "cancelled");
    }

    void expect(bool holds, const std::string& subject, const std::string& rule) {
        if (!holds)
            violations_.push_back(subject + ": not so: " + rule);
    }

    bool high(const SeenRun& run) const { return seen_.high(run); }
    const Model& model_of(const SeenRun& run) const {
        return scenario_.model_of(scenario_.tasks[run.task]);
    }

    bool in_use(std::size_t processor, Time at) const { return seen_.in_use(processor, at); }

    bool any_outage() const {
        return std::ranges::any_of(outages_, [](const auto& outages) { return !outages.empty(); });
    }

    Time factor_at(std::size_t processor, Time at) const {
        std::vector<Event> events = scenario_.events;
        std::ranges::stable_sort(events, {}, &Event::at);
        Time factor = 100;
        for (const Event& event : events)
            if (event.processor == processor && event.kind == Event::Kind::throttle &&
                event.at <= at)
                factor = event.factor;
        return factor;
    }

    /// Returns the run that had finished the unit when `run` was dispatched; null if there is none.
    const SeenRun* finished_by(const SeenRun& run, std::size_t unit) const {
        for (const SeenRun& other : runs_)
            if (other.task == run.task && other.status == "done" && other.has(unit) &&
                other.end <= run.dispatched)
                return &other;
        return nullptr;
    }

    void check_run(const SeenRun& run) {
        const Task& task = scenario_.tasks[run.task];
        const Processor& processor = scenario_.processors[run.processor];
        expect(in_use(run.processor, run.dispatched), run.name, "its processor is in use");
        for (const std::size_t unit : run.units)
            expect(scenario_.can_run(task, unit, run.processor), run.name, "can run there");
        expect(is_piece(run), run.name, "its units are a piece");
        Time lead = processor.overhead;
        for (const std::size_t unit : run.units)
            for (const std::size_t before : model_of(run).units[unit].predecessors) {
                if (run.has(before))
                    continue;
                const SeenRun* const source = finished_by(run, before);
                expect(source != nullptr, run.name, "what it needs is finished");
                if (source != nullptr)
                    lead += move_time(model_of(run).units[before].bytes, source->processor,
                                      run.processor);
            }
        expect(run.dispatched >= task.at && run.dispatched <= run.start.value_or(run.end) &&
                   run.start.value_or(run.end) <= run.end,
               run.name, "its times are in order");
        expect(run.status == "done" || run.status == "failed" || run.status == "cancelled",
               run.name, "it has a status");
        expect(run.status != "done" || run.start, run.name, "a run that is done has started");
        expect((run.status == "failed") == fails_at(run), run.name,
               "it fails with its processor only");
        if (processor.pool)
            check_run_of_pool(run, lead);
        else
            check_run_of_core(run, lead);
        if (high(run) || scenario_.policy == Policy::fixed ||
            scenario_.policy == Policy::shortest_latency)
            expect(any_outage() || run.dispatched == ready_at(run), run.name,
                   "it is dispatched as soon as it is ready");
        else
            check_idle(run);
    }

    Time move_time(Time bytes, std::size_t from, std::size_t to) const {
        const auto rate = scenario_.rates.find(
            {scenario_.processors[from].entry, scenario_.processors[to].entry});
        return rate == scenario_.rates.end() ? 0 : (bytes + rate->second - 1) / rate->second;
    }

    bool fails_at(const SeenRun& run) const {
        const bool at_failure =
            std::ranges::any_of(outages_[run.processor],
                                [&](const Interval& outage) { return outage.first == run.end; });
        // A run with another status ended in the same instant, before the failure.
        return at_failure && run.status == "failed";
    }

    bool is_piece(const SeenRun& run) const {
        std::vector<std::size_t> all(model_of(run).units.size());
        std::iota(all.begin(), all.end(), 0);
        if (scenario_.policy == Policy::round_robin && !high(run))
            return run.units == all;
        return std::ranges::any_of(model_of(run).chains, [&](const auto& chain) {
            return !std::ranges::search(chain, run.units).empty();
        });
    }

    /// Returns the time at which the run was ready, if no run failed.
    Time ready_at(const SeenRun& run) const {
        Time ready = scenario_.tasks[run.task].at;
        for (const std::size_t before : model_of(run).units[run.units.front()].predecessors)
            if (const SeenRun* const source = finished_by(run, before))
                ready = std::max(ready, source->end);
        return ready;
    }

    void check_run_of_pool(const SeenRun& run, Time lead) {
        expect(run.fcs.empty(), run.name, "a run of a pool has no FCs");
        if (!run.start)
            return;
        Time duration = lead;
        for (const std::size_t unit : run.units)
            duration += throttled(run, unit_times(run, unit).front(), *run.start);
        expect(run.status == "failed" ? run.end - *run.start < duration
                                      : run.end - *run.start == duration,
               run.name, "it takes its lead and its units' times");
    }

    const std::vector<Time>& unit_times(const SeenRun& run, std::size_t unit) const {
        return model_of(run).units[unit].time.at(scenario_.processors[run.processor].class_name);
    }

    Time throttled(const SeenRun& run, Time time, Time start) const {
        return ceil_div(time * factor_at(run.processor, start), 100);
    }

    void check_run_of_core(const SeenRun& run, Time lead) {
        std::vector<Time> times;
        for (const std::size_t unit : run.units)
            for (const Time time : unit_times(run, unit))
                times.push_back(time);
        Time before = run.dispatched;
        for (std::size_t i = 0; i < run.fcs.size(); i++) {
            const SeenFc& fc = run.fcs[i];
            expect(fc.index == i && fc.start >= before && i < times.size(), run.name,
                   "its FCs are in order");
            expect(fc.processor == run.processor, run.name, "it never moves");
            expect(fc.high == high(run), run.name, "its ring is that of its priority");
            const Time duration =
                (i == 0 ? lead : 0) + throttled(run, times[i % times.size()], fc.start);
            expect(run.status == "failed" && fc.end == run.end ? fc.end - fc.start <= duration
                                                               : fc.end - fc.start == duration,
                   run.name, "FC " + std::to_string(i) + " takes its time");
            before = fc.end;
        }
        expect(run.start.has_value() != run.fcs.empty() &&
                   (!run.start || *run.start == run.fcs.front().start),
               run.name, "it starts with its first FC");
        expect(run.status != "done" || (run.fcs.size() == times.size() && before == run.end),
               run.name, "it is done with its last FC");
    }

    /// Checks that the processor was idle, for policies that give work to idle processors only.
    void check_idle(const SeenRun& run) {
        std::size_t unfinished = 0;
        for (const SeenRun& other : runs_) {
            if (&other == &run) // later runs were dispatched later
                break;
            if (other.processor == run.processor && other.end > run.dispatched &&
                (scenario_.processors[run.processor].pool || !high(other)))
                unfinished++;
        }
        const Processor& processor = scenario_.processors[run.processor];
        expect(unfinished < (processor.pool ? processor.workers : processor.depth), run.name,
               "it goes to an idle processor");
    }

    /// Whether the sorted intervals contain all of [begin, end).
    static bool covers(const std::vector<Interval>& intervals, Time begin, Time end) {
        for (const Interval& interval : intervals)
            if (interval.first <= begin)
                begin = std::max(begin, interval.second);
        return begin >= end;
    }

    void check_core(std::size_t number) {
        std::vector<std::pair<SeenFc, const SeenRun*>> fcs;
        for (const SeenRun& run : runs_)
            for (const SeenFc& fc : run.fcs)
                if (fc.processor == number)
                    fcs.emplace_back(fc, &run);
        std::ranges::sort(fcs, {}, [](const auto& fc) { return fc.first.start; });
        std::vector<Interval> busy;
        for (const auto& [fc, run] : fcs) {
            expect(busy.empty() || busy.back().second <= fc.start, run->name, "FCs do not overlap");
            busy.emplace_back(fc.start, fc.end);
        }
        for (const SeenRun& run : runs_) {
            if (run.processor != number)
                continue;
            expect(covers(busy, run.dispatched, run.end), run.name, "the core works meanwhile");
        }
        check_rings(number);
    }

    /// Checks that up to the first failure, the reference of the FC level runs the same FCs for the
    /// same jobs and times.
    void check_rings(std::size_t number) {
        const Processor& processor = scenario_.processors[number];
        const Time until =
            outages_[number].empty() ? std::numeric_limits<Time>::max() : outages_[number][0].first;
        const std::size_t most = std::numeric_limits<unsigned>::max(); // no job has so many FCs
        ReferenceDevice device({static_cast<unsigned>(std::min(processor.core_limit, most))},
                               false);
        std::vector<std::pair<Time, const SeenRun*>> arrivals;
        for (const SeenRun& run : runs_)
            if (run.processor == number && run.dispatched < until)
                arrivals.emplace_back(run.dispatched, &run);
        std::set<Time> instants;
        for (const auto& [at, run] : arrivals) {
            instants.insert(at);
            if (const std::optional<Time> closed = closed_at(run->task); closed && *closed > at)
                instants.insert(*closed);
        }
        for (;;) {
            Time now = instants.empty() ? until : *instants.begin();
            if (const std::optional<std::uint64_t> end = device.next_end())
                now = std::min(now, static_cast<Time>(*end));
            if (now >= until)
                break;
            instants.erase(now);
            for (const std::size_t job : device.ending(static_cast<std::uint64_t>(now)))
                device.end_fc(static_cast<std::uint64_t>(now), job);
            for (std::size_t job = 0; job < arrivals.size(); job++)
                if (arrivals[job].first == now)
                    submit(device, *arrivals[job].second);
                else if (arrivals[job].first < now && closed_at(arrivals[job].second->task) == now)
                    device.cancel(static_cast<std::uint64_t>(now), job);
            device.choose(static_cast<std::uint64_t>(now));
        }
        const Timeline reference = device.timeline();
        std::size_t started = 0;
        for (const auto& [at, run] : arrivals)
            for (const SeenFc& fc : run->fcs) {
                started += fc.start < until ? 1 : 0;
                expect(fc.start >= until || has(reference, run->name, fc), run->name,
                       "its FCs start as at FC level");
            }
        expect(started == reference.fcs.size(), processor.name, "no FC is missing");
    }

    void submit(ReferenceDevice& device, const SeenRun& run) const {
        std::size_t count = 0;
        for (const std::size_t unit : run.units)
            count += unit_times(run, unit).size();
        std::vector<std::uint64_t> times(count, 1); // FCs that never started have time 1
        for (const SeenFc& fc : run.fcs)
            if (fc.index < count)
                times[fc.index] = static_cast<std::uint64_t>(fc.end - fc.start);
        device.submit(static_cast<std::uint64_t>(run.dispatched), run.name, 1,
                      scenario_.tasks[run.task].priority, "", times);
    }

    static bool has(const Timeline& timeline, const std::string& job, const SeenFc& fc) {
        return std::ranges::any_of(timeline.fcs, [&](const TimelineFc& other) {
            return other.job == job && other.index == fc.index &&
                   other.start == static_cast<std::uint64_t>(fc.start);
        });
    }

    void check_pool(std::size_t number) {
        const Processor& processor = scenario_.processors[number];
        const auto executing_at = [&](Time at) {
            return static_cast<std::size_t>(std::ranges::count_if(runs_, [&](const SeenRun& run) {
                return run.processor == number && run.start && *run.start <= at && at < run.end;
            }));
        };
        for (const SeenRun& run : runs_) {
            if (run.processor != number)
                continue;
            if (run.start)
                expect(executing_at(*run.start) <= processor.workers, run.name, "has a worker");
            const Time start = run.start.value_or(run.end);
            for (const SeenRun& other : runs_) {
                if (other.processor != number || !other.start)
                    continue;
                for (const Time at : {*other.start, other.end})
                    if (run.dispatched <= at && at < start)
                        expect(executing_at(at) == processor.workers, run.name,
                               "all workers work while it waits");
                // 255 first, then in order of dispatch.
                const bool before = high(run) != high(other) ? high(run) : &run < &other;
                if (before && *other.start >= run.dispatched)
                    expect(start <= *other.start, run.name, "starts before those behind it");
            }
        }
    }

    /// Returns the time of the task's first cancel, if it has one.
    std::optional<Time> cancelled_at(std::size_t task) const {
        std::optional<Time> first;
        for (const Cancel& cancel : scenario_.cancels)
            if (cancel.task == task && (!first || cancel.at < *first))
                first = cancel.at;
        return first;
    }

    /// Returns the time at which the task was cancelled or had failed too often.
    std::optional<Time> closed_at(std::size_t task) const {
        std::optional<Time> closed = cancelled_at(task);
        std::vector<Time> retries;
        for (const SeenRun& run : runs_)
            if (run.task == task && run.status == "failed" && run.start)
                retries.push_back(run.end);
        std::ranges::sort(retries);
        if (retries.size() > 3 && (!closed || retries[3] <= *closed))
            closed = retries[3];
        return closed;
    }

    void check_task(std::size_t number) {
        const Task& task = scenario_.tasks[number];
        const SeenTask& seen = tasks_[number];
        std::vector<const SeenRun*> runs;
        for (const SeenRun& run : runs_)
            if (run.task == number)
                runs.push_back(&run);
        expect(seen.dispatched ==
                   (runs.empty() ? std::nullopt : std::optional(runs.front()->dispatched)),
               task.id, "it is dispatched with its first run");
        const auto retries = std::ranges::count_if(
            runs, [](const SeenRun* run) { return run->status == "failed" && run->start; });
        expect(seen.retries == static_cast<std::size_t>(retries), task.id,
               "its retries are its failed runs");
        for (const SeenRun* run : runs)
            expect(!seen.end || run->end <= *seen.end, task.id, "it ends after its runs");
        check_units(number, runs);
        check_status(number, runs);
        const std::optional<Time> closed = closed_at(number);
        for (const SeenRun* run : runs) {
            expect(!closed || run->dispatched < *closed, run->name, "not dispatched when closed");
            for (const SeenFc& fc : run->fcs)
                expect(!closed || fc.start < *closed, run->name, "no FC starts when closed");
        }
        if (scenario_.drop != Drop::never && task.deadline && task.priority != 255)
            expect(!seen.dispatched || *seen.dispatched < *task.deadline, task.id,
                   "not dispatched at its deadline");
    }

    void check_units(std::size_t number, const std::vector<const SeenRun*>& runs) {
        const Task& task = scenario_.tasks[number];
        std::vector<std::size_t> done(scenario_.model_of(task).units.size());
        for (const SeenRun* run : runs)
            for (const std::size_t unit : run->units)
                done[unit] += run->status == "done" ? 1 : 0;
        expect(std::ranges::max(done) <= 1, task.id, "no unit is done twice");
        expect((std::ranges::min(done) == 1) == (tasks_[number].status == "done"), task.id,
               "it is done with all its units");
    }

    void check_status(std::size_t number, const std::vector<const SeenRun*>& runs) {
        const Task& task = scenario_.tasks[number];
        const SeenTask& seen = tasks_[number];
        Time last = task.at;
        for (const SeenRun* run : runs)
            last = std::max(last, run->end);
        const std::optional<Time> cancelled = cancelled_at(number);
        if (seen.status == "done") {
            expect(seen.end == last, task.id, "it is done with its last run");
        } else if (seen.status == "cancelled") {
            expect(cancelled && *seen.end == std::max(*cancelled, last), task.id,
                   "a cancelled task ends at once or with its last run");
        } else if (seen.status == "failed") {
            expect(seen.retries > 3 && *seen.end == last, task.id, "it failed too often");
        } else if (seen.status == "dropped") {
            expect(task.priority != 255 && task.deadline && scenario_.drop != Drop::never, task.id,
                   "it may be dropped");
            expect(scenario_.drop != Drop::late || *seen.end >= *task.deadline, task.id,
                   "it is dropped at its deadline");
        } else {
            expect(seen.status.empty() && !seen.end, task.id, "it has a status if it has an end");
            expect(!cancelled, task.id, "a cancelled task ends");
            expect(can_never_run(number), task.id, "a task without an end has no plan");
        }
        expect(seen.retries <= 3 || seen.status == "failed" || cancelled, task.id,
               "retries are bounded");
    }

    /// Whether the processors that are in use at the end cannot run the task.
    bool can_never_run(std::size_t number) const {
        const Task& task = scenario_.tasks[number];
        const auto can_run = [&](std::size_t unit, std::size_t q) {
            return in_use(q, std::numeric_limits<Time>::max() - 1) &&
                   scenario_.can_run(task, unit, q);
        };
        const std::size_t units = scenario_.model_of(task).units.size();
        std::vector<std::size_t> by_unit(units);
        bool one_has_all = false;
        for (std::size_t q = 0; q < scenario_.processors.size(); q++) {
            std::size_t here = 0;
            for (std::size_t unit = 0; unit < units; unit++) {
                by_unit[unit] += can_run(unit, q) ? 1 : 0;
                here += can_run(unit, q) ? 1 : 0;
            }
            one_has_all = one_has_all || here == units;
        }
        if (scenario_.policy == Policy::round_robin && task.priority != 255)
            return !one_has_all;
        for (const SeenRun& run : runs_)
            for (const std::size_t unit : run.units)
                if (run.task == number && run.status == "done")
                    by_unit[unit] = 1;
        return std::ranges::min(by_unit) == 0;
    }

    /// Checks that runs are dispatched only at instants that cause a look, in which the coordinator
    /// decides.
    void check_triggers() {
        std::set<Time> triggers;
        for (const Task& task : scenario_.tasks)
            triggers.insert(task.at);
        for (const SeenTask& task : tasks_)
            if (task.end)
                triggers.insert(*task.end);
        for (const SeenRun& run : runs_)
            triggers.insert(run.end);
        for (const std::vector<Interval>& outages : outages_)
            for (const Interval& outage : outages) {
                triggers.insert(outage.first);
                triggers.insert(outage.second);
            }
        for (const SeenRun& run : runs_)
            expect(triggers.contains(run.dispatched), run.name, "dispatched when there is a look");
    }

    Seen seen_;
    const Scenario& scenario_ = seen_.scenario;
    const std::vector<SeenRun>& runs_ = seen_.runs;
    const std::vector<SeenTask>& tasks_ = seen_.tasks;
    const std::vector<std::vector<Interval>>& outages_ = seen_.outages;
    std::vector<std::string> violations_;
};

} // namespace
} // namespace processors

std::vector<std::string> processors_violations(const json& scenario, const json& timeline) {
    return processors::Checker(scenario, timeline).violations();
}

} // namespace overtake::test
