// SPDX-License-Identifier: MIT
#include "oracle.hpp"

#include <algorithm>
#include <set>

#include "reference_device.hpp"

namespace overtake::test {

namespace {

/// Goes from instant to instant, and takes the steps of each instant in the contract's order.
class Simulation {
public:
    explicit Simulation(const Scenario& scenario)
        : scenario_(scenario), device_(scenario.core_limits, scenario.fair),
          jobs_(scenario.jobs.size()) {}

    Timeline run() {
        std::set<std::uint64_t> outside;
        for (const ScenarioJob& job : scenario_.jobs)
            outside.insert(job.at);
        for (const ScenarioCancel& cancel : scenario_.cancels)
            outside.insert(cancel.at);
        for (const ScenarioLimit& change : scenario_.limits)
            outside.insert(change.at);
        while (!outside.empty() || device_.next_end()) {
            now_ = outside.empty() ? *device_.next_end() : *outside.begin();
            now_ = std::min(now_, device_.next_end().value_or(now_));
            outside.erase(now_);
            for (const std::size_t job : device_.ending(now_))
                device_.end_fc(now_, job);
            arrive();
            cancel();
            for (const ScenarioLimit& change : scenario_.limits)
                if (change.at == now_)
                    device_.set_limit(change.core, change.limit);
            device_.choose(now_);
        }
        return device_.timeline();
    }

private:
    void arrive() {
        for (std::size_t i = 0; i < scenario_.jobs.size(); i++) {
            const ScenarioJob& job = scenario_.jobs[i];
            if (job.at == now_)
                jobs_[i] =
                    device_.submit(now_, job.id, job.core, job.priority, job.context, job.fcs);
        }
    }

    void cancel() {
        for (const ScenarioCancel& cancel : scenario_.cancels)
            if (cancel.at == now_)
                device_.cancel(now_, jobs_[cancel.job]);
    }

    const Scenario& scenario_;
    ReferenceDevice device_;
    std::vector<std::size_t> jobs_; ///< the device's number of each job of the scenario
    std::uint64_t now_ = 0;
};

} // namespace

Timeline oracle_timeline(const Scenario& scenario) {
    return Simulation(scenario).run();
}

} // namespace overtake::test
