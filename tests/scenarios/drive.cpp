// SPDX-License-Identifier: MIT
#include "drive.hpp"

#include <cerrno>
#include <map>
#include <set>

#include "programs.hpp"
#include "scenario_device.hpp"

namespace overtake::test {

namespace {

constexpr std::uint64_t ns_per_us = 1000;

class Driver {
public:
    Driver(Device& device, const Scenario& scenario)
        : device_(device), scenario_(scenario), clock_(*device.manual_clock()),
          origin_ns_(clock_.now_ns() + ns_per_us) {
        for (const ScenarioJob& job : scenario.jobs) {
            programs_.push_back(delays(device, job.fcs));
            if (!queues_.contains(job.context))
                queues_[job.context] = device.create_queue({.max_priority = 255, .core_limit = 0});
        }
    }

    void run() {
        std::set<std::uint64_t> instants;
        for (const ScenarioJob& job : scenario_.jobs)
            instants.insert(job.at);
        for (const ScenarioCancel& cancel : scenario_.cancels)
            instants.insert(cancel.at);
        for (const std::uint64_t instant : instants) {
            clock_.advance_to(origin_ns_ + instant * ns_per_us);
            submit_arrivals(instant);
            cancel(instant);
        }
        clock_.advance_to(origin_ns_ + scenario_.over() * ns_per_us);
    }

    Timeline timeline(const std::vector<FcRecord>& records) {
        Timeline timeline;
        for (const FcRecord& record : records)
            timeline.fcs.push_back({scenario_.jobs.at(record.tag).id, record.index, record.core,
                                    record.high, microseconds(record.start_ns),
                                    microseconds(record.end_ns)});
        timeline.sort_fcs();
        const std::vector<Completion> completions = reap();
        for (const std::size_t i : arrival_order(scenario_))
            timeline.jobs.push_back(job_from(completions.at(i)));
        return timeline;
    }

private:
    void submit_arrivals(std::uint64_t instant) {
        for (std::size_t i = 0; i < scenario_.jobs.size(); i++) {
            const ScenarioJob& job = scenario_.jobs[i];
            if (job.at != instant)
                continue;
            Job arrival = programs_[i].job(i, job.priority, job.core);
            arrival.custom_id = job.custom_id;
            arrival.deadline_ns = deadline_never;
            queues_.at(job.context)->submit({&arrival, 1});
        }
    }

    void cancel(std::uint64_t instant) {
        for (const ScenarioCancel& cancel : scenario_.cancels)
            if (cancel.at == instant)
                queues_.at(scenario_.jobs[cancel.job].context)->cancel(cancel.job);
    }

    /// Returns the completions by job.
    std::vector<Completion> reap() {
        std::vector<Completion> completions(scenario_.jobs.size());
        std::vector<Completion> some(scenario_.jobs.size());
        std::size_t left = scenario_.jobs.size();
        for (const auto& [context, queue] : queues_) {
            // The clock stands at an instant at which all jobs are over: none ends later.
            while (const std::size_t count = queue->reap(some, 0)) {
                for (std::size_t i = 0; i < count; i++)
                    completions.at(some[i].tag) = some[i];
                left -= count;
            }
        }
        if (left != 0)
            throw Error(ETIMEDOUT, std::to_string(left) + " jobs have not ended");
        return completions;
    }

    TimelineJob job_from(const Completion& completion) const {
        const ScenarioJob& job = scenario_.jobs.at(completion.tag);
        if (completion.status != 0 && completion.status != -ECANCELED)
            throw Error(-completion.status, "job " + job.id + " failed");
        std::optional<std::uint64_t> start;
        if (completion.start_ns != 0)
            start = microseconds(completion.start_ns);
        return {job.id,
                completion.core,
                microseconds(completion.queued_ns),
                start,
                microseconds(completion.end_ns),
                completion.preemptions,
                completion.status == -ECANCELED};
    }

    /// Returns a time of the device in microseconds. Throws Error for no whole number: then the
    /// timeline is wrong.
    std::uint64_t microseconds(std::uint64_t time_ns) const {
        if ((time_ns - origin_ns_) % ns_per_us != 0)
            throw Error(ERANGE, "a time that is no whole microsecond");
        return (time_ns - origin_ns_) / ns_per_us;
    }

    Device& device_;
    const Scenario& scenario_;
    ManualClock& clock_;
    std::uint64_t origin_ns_;
    std::vector<Program> programs_;
    std::map<std::string, std::unique_ptr<Queue>> queues_; ///< one for each context
};

} // namespace

Timeline drive(Device& device, const Scenario& scenario,
               const std::function<std::vector<FcRecord>()>& take_fcs) {
    Driver driver(device, scenario);
    driver.run();
    return driver.timeline(take_fcs());
}

Timeline drive_made_here(const Scenario& scenario, const Backend& backend) {
    std::vector<FcRecord> records;
    const MadeDevice made(backend, device_of(scenario, records));
    const auto& device = made();
    return drive(*device, scenario, [&] { return records; });
}

} // namespace overtake::test
