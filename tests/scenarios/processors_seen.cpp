// SPDX-License-Identifier: MIT
#include "processors_seen.hpp"

#include <limits>

#include <nlohmann/json.hpp>

namespace overtake::test::processors {
namespace {

template <typename Entry>
std::size_t number_of(const std::vector<Entry>& entries, std::string Entry::*name,
                      const std::string& value) {
    return static_cast<std::size_t>(std::ranges::find(entries, value, name) - entries.begin());
}

} // namespace

using nlohmann::json;

std::optional<Time> time_or_none(const json& value) {
    return value.is_null() ? std::nullopt : std::optional(value.get<Time>());
}

Seen::Seen(const json& file, const json& timeline) : scenario(scenario_from(file)) {
    for (const json& entry : timeline.at("runs"))
        runs.push_back({
            .name = entry.at("task").get<std::string>() + "." + entry.at("run").dump(),
            .task = number_of(scenario.tasks, &Task::id, entry.at("task")),
            .units = entry.at("units").get<std::vector<std::size_t>>(),
            .processor = number_of(scenario.processors, &Processor::name, entry.at("processor")),
            .dispatched = entry.at("dispatched"),
            .start = time_or_none(entry.at("start")),
            .end = entry.at("end"),
            .status = entry.at("status"),
        });
    for (const json& entry : timeline.at("fcs")) {
        const auto run =
            std::ranges::find(runs, entry.at("job").get<std::string>(), &SeenRun::name);
        const auto processor = std::ranges::find(
            scenario.processors, entry.at("core").get<unsigned>(), &Processor::core_number);
        run->fcs.push_back({entry.at("index"),
                            static_cast<std::size_t>(processor - scenario.processors.begin()),
                            entry.at("ring") == "high", entry.at("start"), entry.at("end")});
    }
    for (const json& entry : timeline.at("tasks"))
        tasks.push_back({time_or_none(entry.at("dispatched")), time_or_none(entry.at("end")),
                         entry.at("status").is_null() ? "" : entry.at("status"),
                         entry.at("retries")});
    for (std::size_t processor = 0; processor < scenario.processors.size(); processor++)
        outages.push_back(outages_of(processor));
}

std::vector<Interval> Seen::outages_of(std::size_t processor) const {
    std::vector<Interval> found;
    std::vector<std::pair<Time, bool>> changes; // whether the processor works from then on
    for (const Event& event : scenario.events)
        if (event.processor == processor && event.kind != Event::Kind::throttle)
            changes.emplace_back(event.at, event.kind == Event::Kind::recover);
    std::ranges::stable_sort(changes, {}, &std::pair<Time, bool>::first);
    for (const auto& [at, works] : changes) {
        if (works || (!found.empty() && at <= found.back().second))
            continue;
        // The trials that follow, up to the trial that finds the processor working.
        Time interval = scenario.retry_after;
        Time trial = at + interval;
        const auto works_at = [&](Time time) {
            bool state = true;
            for (const auto& change : changes)
                if (change.first <= time)
                    state = change.second;
            return state;
        };
        while (!works_at(trial) && trial <= changes.back().first) {
            interval = std::min(2 * interval, 16 * scenario.retry_after);
            trial += interval;
        }
        found.emplace_back(at, works_at(trial) ? trial : std::numeric_limits<Time>::max());
    }
    return found;
}

bool Seen::in_use(std::size_t processor, Time at) const {
    return std::ranges::none_of(outages[processor], [&](const Interval& outage) {
        return outage.first <= at && at < outage.second;
    });
}

} // namespace overtake::test::processors
