// SPDX-License-Identifier: MIT
#include "observe/watch/processor_lanes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "observe/units_text.hpp"
#include "observe/watch/jobs.hpp"
#include "overtake/device.hpp"

namespace overtake::watch {

namespace {

bool is_worth_drawing(ProcessorState state) {
    return state != ProcessorState::ok && state != ProcessorState::gone;
}

} // namespace

void ProcessorLanes::see_processor(const ProcessorEvent& event) {
    const Key key{event.pid, event.engine, event.processor};
    if (!processors_.contains(key) && processors_.size() >= most_processors_drawn)
        return;
    const auto [found, is_new] = processors_.try_emplace(key);
    Processor& of = found->second;
    if (is_new || of.state != event.state) {
        if (!is_new && is_worth_drawing(of.state))
            of.conditions.push_back({of.state, of.since_ns, event.time_ns});
        of.state = event.state;
        of.since_ns = event.time_ns;
    }
    of.name = event.name;
    of.workers = event.workers;
}

void ProcessorLanes::add(const ProcessorEvent& event) {
    const std::pair request{event.pid, event.task};
    switch (event.type) {
    case ProcessorEventType::processor:
        see_processor(event);
        return;
    case ProcessorEventType::request_arrive:
        if (requests_.size() < most_requests)
            requests_[request] = {event.model, event.priority == priority_high, next_request_++};
        return;
    case ProcessorEventType::request_end:
        requests_.erase(request);
        return;
    case ProcessorEventType::run_end: {
        const auto of = requests_.find(request);
        if (event.start_ns == 0 || event.end_ns <= event.start_ns || of == requests_.end())
            return;
        runs_.push_back({{event.pid, event.engine, event.processor},
                         event.run,
                         of->second.number,
                         of->second.model,
                         of->second.high,
                         event.units,
                         event.start_ns,
                         event.end_ns});
        return;
    }
    default:
        return;
    }
}

void ProcessorLanes::add_conditions(timeline::Timeline& timeline, const Processor& processor,
                                    unsigned first, std::uint64_t last_ns) const {
    std::vector<Condition> all = processor.conditions;
    if (is_worth_drawing(processor.state) && processor.since_ns < last_ns)
        all.push_back({processor.state, processor.since_ns, last_ns});
    for (const Condition& condition : all)
        for (unsigned worker = 0; worker < std::max(1u, processor.workers); worker++)
            timeline.conditions.push_back(
                {first + worker, condition.from_ns, condition.to_ns,
                 condition.state == ProcessorState::throttled ? "throttled" : "out of use",
                 condition.state == ProcessorState::throttled});
}

void ProcessorLanes::add_to(timeline::Timeline& timeline, unsigned cores) const {
    for (unsigned core = 1; core <= cores; core++)
        timeline.lanes.push_back({fmt::format("core {}", core)});
    std::vector<Run> runs = runs_;
    std::ranges::sort(runs, {}, [](const Run& run) { return std::tie(run.start_ns, run.task); });
    std::uint64_t last_ns = 0;
    std::map<Key, unsigned> first_lanes;
    for (const auto& [key, processor] : processors_) {
        const std::uint32_t pid = std::get<0>(key);
        first_lanes[key] = static_cast<unsigned>(timeline.lanes.size() + 1);
        for (unsigned worker = 1; worker <= std::max(1u, processor.workers); worker++)
            timeline.lanes.push_back({processor.workers > 1
                                          ? fmt::format("{} #{} ({})", processor.name, worker, pid)
                                          : fmt::format("{} ({})", processor.name, pid),
                                      false});
    }
    std::vector<std::uint64_t> free_from(timeline.lanes.size() + 1);
    for (const Run& run : runs) {
        const auto first = first_lanes.find(run.processor);
        if (first == first_lanes.end())
            continue;
        const unsigned workers = std::max(1u, processors_.at(run.processor).workers);
        unsigned lane = first->second;
        while (lane + 1 < first->second + workers && free_from[lane] > run.start_ns)
            lane++;
        free_from[lane] = run.end_ns;
        last_ns = std::max(last_ns, run.end_ns);
        timeline.fcs.push_back({.task = owner_name(run.model, std::get<0>(run.processor)),
                                .tag = run.task << 16 | run.number,
                                .index = 0,
                                .core = lane,
                                .high = run.high,
                                .start_ns = run.start_ns,
                                .end_ns = run.end_ns,
                                .request = run.task,
                                .what = units_text(run.units)});
    }
    for (const auto& [key, processor] : processors_)
        add_conditions(timeline, processor, first_lanes.at(key), last_ns);
}

} // namespace overtake::watch
