// SPDX-License-Identifier: MIT
#include "simulator/processors/pictures.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "observe/units_text.hpp"
#include "overtake/device.hpp"
#include "simulator/summary.hpp"

namespace overtake::simulator::processors {
namespace {

constexpr std::uint64_t without_end = ~std::uint64_t{0};

} // namespace

ProcessorPictures::ProcessorPictures(const ProcessorScenario& scenario, std::string title,
                                     const Options& options)
    : scenario_(scenario), options_(options), picture_limit_(without_end / scenario.tick_ns) {
    timeline_.title = std::move(title);
    timeline_.tasks = scenario.task_classes; // colours do not depend on the window
    for (const Processor& processor : scenario.processors) {
        first_lane_.push_back(timeline_.lanes.size());
        const std::uint32_t workers = processor.described.workers;
        if (processor.core != 0 || workers == 1)
            timeline_.lanes.push_back({processor.name, processor.core != 0});
        for (std::uint32_t worker = 1; workers > 1 && worker <= workers; worker++)
            timeline_.lanes.push_back({fmt::format("{} #{}", processor.name, worker), false});
    }
    lanes_.resize(timeline_.lanes.size());
}

bool ProcessorPictures::in_window(std::uint64_t start, std::uint64_t end) const {
    return end <= picture_limit_ && end > options_.from && start < options_.to;
}

/// Returns the lane of a run that executes.
std::size_t ProcessorPictures::lane_of(const LiveTask::Run& run) const {
    std::size_t lane = first_lane_[run.run->processor];
    if (scenario_.processors[run.run->processor].core == 0)
        while (!lanes_[lane].busy || lanes_[lane].run != run.run->dispatch_sequence)
            lane++;
    return lane;
}

void ProcessorPictures::keep(const LiveTask& task, const LiveTask::Run& run, std::size_t lane,
                             std::uint64_t start, std::uint64_t end) {
    last_end_ = std::max(last_end_, end);
    if (!in_window(start, end))
        return;
    const std::uint64_t tick_ns = scenario_.tick_ns;
    const std::string& name = scenario_.task_classes[task.kind->task_class];
    const auto number = static_cast<unsigned>(lane + 1);
    density_.add(number, lanes_[lane].high, name, std::max(start, options_.from) * tick_ns,
                 std::min(end, options_.to) * tick_ns);
    if (timeline_.fcs.size() >= Pictures::most_drawn)
        overflowed_ = true;
    if (overflowed_ && !options_.every_fc)
        return;
    timeline_.fcs.push_back(
        {.task = name,
         .tag = run.run->dispatch_sequence,
         .index = lanes_[lane].index,
         .core = number,
         .high = lanes_[lane].high,
         .start_ns = start * tick_ns,
         .end_ns = end * tick_ns,
         .request = task.number + 1,
         .what = timeline_.lanes[lane].rings ? "" : units_text(run.run->units)});
}

void ProcessorPictures::fc_started(LiveTask&, LiveTask::Run& run, bool high, std::uint32_t index,
                                   std::uint64_t) {
    lanes_[first_lane_[run.run->processor]] = {true, run.run->dispatch_sequence, high, index};
}

void ProcessorPictures::fc_ended(LiveTask& task, LiveTask::Run& run, std::uint64_t time) {
    keep(task, run, lane_of(run), run.fc_start, time);
}

void ProcessorPictures::preempted(LiveTask&, LiveTask::Run& run, std::uint64_t time) {
    if (!in_window(time, time + 1))
        return;
    const auto number = static_cast<unsigned>(first_lane_[run.run->processor] + 1);
    density_.preempted(number, time * scenario_.tick_ns);
    if (!overflowed_ || options_.every_fc)
        timeline_.preemptions.push_back({.core = number,
                                         .time_ns = time * scenario_.tick_ns,
                                         .tag = run.run->dispatch_sequence});
}

/// A run on a pool takes the first free worker.
void ProcessorPictures::run_started(LiveTask&, LiveTask::Run& run, std::uint64_t) {
    if (scenario_.processors[run.run->processor].core != 0)
        return;
    std::size_t lane = first_lane_[run.run->processor];
    while (lanes_[lane].busy)
        lane++;
    lanes_[lane] = {.busy = true, .run = run.run->dispatch_sequence};
}

void ProcessorPictures::run_ended(LiveTask& task, LiveTask::Run& run, ovt_coord_status,
                                  std::uint64_t time) {
    if (scenario_.processors[run.run->processor].core != 0 || !run.started)
        return;
    const std::size_t lane = lane_of(run);
    keep(task, run, lane, run.fc_start, time);
    lanes_[lane].busy = false;
}

void ProcessorPictures::out_of_use(std::uint32_t processor, std::uint64_t time) {
    outages_.push_back({processor, time, without_end});
}

void ProcessorPictures::in_use_again(std::uint32_t processor, std::uint64_t time) {
    for (Outage& outage : outages_)
        if (outage.processor == processor && outage.to == without_end)
            outage.to = time;
}

void ProcessorPictures::add_condition(timeline::Timeline& timeline, std::uint32_t processor,
                                      std::uint64_t from, std::uint64_t to, const std::string& what,
                                      bool works) const {
    to = std::min({to, last_end_, picture_limit_});
    const std::size_t count = std::max(1u, scenario_.processors[processor].described.workers);
    for (std::size_t i = 0; i < count && from < to; i++)
        timeline.conditions.push_back({static_cast<unsigned>(first_lane_[processor] + i + 1),
                                       from * scenario_.tick_ns, to * scenario_.tick_ns, what,
                                       works});
}

void ProcessorPictures::add_conditions(timeline::Timeline& timeline) const {
    for (std::uint32_t processor = 0; processor < scenario_.processors.size(); processor++) {
        std::uint64_t from = 0;
        std::uint64_t factor = 100;
        const auto end = [&](std::uint64_t time) {
            if (factor != 100)
                add_condition(timeline, processor, from, time, fmt::format("takes {} %", factor),
                              true);
        };
        for (const ProcessorEvent& event : scenario_.events) {
            if (event.processor != processor || event.type != EventType::throttle)
                continue;
            end(event.at);
            from = event.at;
            factor = event.factor;
        }
        end(without_end);
    }
    for (const Outage& outage : outages_)
        add_condition(timeline, outage.processor, outage.from, outage.to, "out of use", false);
}

timeline::Timeline ProcessorPictures::timeline() const {
    timeline::Timeline timeline = timeline_;
    add_conditions(timeline);
    return timeline;
}

void ProcessorPictures::demand_content() const {
    if (last_end_ > picture_limit_ && options_.to > picture_limit_)
        throw Error(ERANGE, "the run is too long for a picture: 584 years at most; give a window");
    if (density_.empty())
        throw Error(
            ENODATA,
            fmt::format("nothing ran from {} on{}; the last run ended at {}",
                        format_time(in_us(options_.from, scenario_.tick_ns)),
                        options_.to == without_end
                            ? ""
                            : " and before " + format_time(in_us(options_.to, scenario_.tick_ns)),
                        format_time(in_us(last_end_, scenario_.tick_ns))));
}

std::string ProcessorPictures::svg() const {
    const timeline::Timeline whole = timeline();
    if (overflowed_)
        return timeline::to_svg(density_, whole);
    return timeline::to_svg(whole, options_.from * scenario_.tick_ns,
                            std::min(last_end_, options_.to) * scenario_.tick_ns);
}

} // namespace overtake::simulator::processors
