// SPDX-License-Identifier: MIT
#include "processors/campaign.hpp"

#include <array>
#include <mutex>
#include <sstream>
#include <vector>

#include "processors/shrink.hpp"
#include "processors_decisions.hpp"
#include "processors_invariants.hpp"
#include "random_processors.hpp"
#include "scheduler/first_failure.hpp"
#include "scheduler/violation.hpp"
#include "simulator/processors/recorder.hpp"

namespace overtake::fuzz {

using nlohmann::json;

namespace {

/// Reports dispatching without end as a violation.
class EndlessCheck : public simulator::processors::Observer {
public:
    void dispatched(simulator::processors::LiveTask&, simulator::processors::LiveTask::Run&,
                    std::uint64_t time) override {
        if (++runs_ > most)
            violate("more than {} runs by {}", most, time);
    }

private:
    static constexpr std::uint64_t most = 10'000;
    std::uint64_t runs_ = 0;
};

json timeline_of(const json& document) {
    namespace sim = simulator::processors;
    const sim::ProcessorScenario scenario = sim::parse_processor_scenario(document, {});
    sim::ProcessorRecorder recorder(scenario);
    EndlessCheck endless;
    const std::array<sim::Observer*, 2> observers = {&recorder, &endless};
    sim::ProcessorSimulator(scenario, scenario.seed, observers).run();
    std::ostringstream out;
    recorder.write(out);
    return json::parse(out.str());
}

void count_records(const json& timeline, ProcessorTotals& totals) {
    for (const json& task : timeline["tasks"]) {
        totals.tasks++;
        totals.cancelled += task["status"] == "cancelled";
        totals.dropped += task["status"] == "dropped";
    }
    for (const json& run : timeline["runs"]) {
        totals.runs++;
        totals.failed += run["status"] == "failed";
    }
}

} // namespace

std::optional<std::string> processor_violation(const json& scenario, ProcessorTotals* totals) {
    json timeline;
    try {
        timeline = timeline_of(scenario);
    } catch (const Violation& violation) {
        return violation.what();
    }
    for (const auto& check : {test::processors_violations, test::processors_decision_violations}) {
        const std::vector<std::string> violations = check(scenario, timeline);
        if (!violations.empty())
            return violations.front();
    }
    if (totals != nullptr)
        count_records(timeline, *totals);
    return std::nullopt;
}

ProcessorCampaignResult processor_campaign(const ProcessorCampaignOptions& options) {
    ProcessorCampaignResult result;
    std::mutex mutex;
    const auto failed =
        first_failure(options.cases, options.threads, options.progress, [&](std::uint64_t index) {
            ProcessorTotals totals;
            auto violation = processor_violation(
                test::random_processors_scenario(options.seed + index), &totals);
            if (violation)
                return violation;
            const std::lock_guard lock(mutex);
            result.cases++;
            result.totals.tasks += totals.tasks;
            result.totals.runs += totals.runs;
            result.totals.failed += totals.failed;
            result.totals.cancelled += totals.cancelled;
            result.totals.dropped += totals.dropped;
            return violation;
        });
    if (!failed)
        return result;
    const std::uint64_t seed = options.seed + failed->index;
    json shrunk = shrink(test::random_processors_scenario(seed), [](const json& scenario) {
        return processor_violation(scenario).has_value();
    });
    const std::string violation = *processor_violation(shrunk);
    result.failure = {seed, failed->what, std::move(shrunk), violation};
    return result;
}

} // namespace overtake::fuzz
