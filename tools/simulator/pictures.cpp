// SPDX-License-Identifier: MIT
#include "simulator/pictures.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "overtake/device.hpp"
#include "simulator/event_source.hpp"
#include "simulator/summary.hpp"

namespace overtake::simulator {
namespace {} // namespace

Pictures::Pictures(const Scenario& scenario, std::string title, const Options& options)
    : scenario_(scenario), options_(options), tick_ns_(scenario.tick_ns),
      picture_limit_(~std::uint64_t{0} / scenario.tick_ns) {
    timeline_.title = std::move(title);
    for (const auto& task_class : scenario.classes)
        timeline_.tasks.push_back(task_class.name); // colours do not depend on the window
}

bool Pictures::in_window(std::uint64_t start, std::uint64_t end) const {
    return end <= picture_limit_ && end > options_.from && start < options_.to;
}

const std::string& Pictures::name_of(const LiveTask& task) const {
    return scenario_.classes[task.kind->task_class].name;
}

/// Returns whether FCs and CPU segments are still kept one by one.
bool Pictures::keeps_more() const {
    return options_.every_fc || !overflowed_;
}

void Pictures::fc_started(LiveTask& task, unsigned core, bool high, std::uint32_t index,
                          std::uint64_t time, std::uint64_t end) {
    last_end_ = std::max(last_end_, end);
    if (!in_window(time, end))
        return;
    const std::uint64_t start_ns = std::max(time, options_.from) * tick_ns_;
    density_.add(core, high, name_of(task), start_ns, std::min(end, options_.to) * tick_ns_);
    if (timeline_.fcs.size() + timeline_.cpu.size() >= most_drawn)
        overflowed_ = true;
    if (keeps_more())
        timeline_.fcs.push_back({.task = name_of(task),
                                 .tag = job_tag(task),
                                 .index = index,
                                 .core = core,
                                 .high = high,
                                 .start_ns = time * tick_ns_,
                                 .end_ns = end * tick_ns_,
                                 .request = task.serial,
                                 .part = task.fc_part,
                                 .stage = task.parts().empty()
                                              ? std::nullopt
                                              : std::optional<std::uint32_t>(task.fc_stage)});
}

void Pictures::cpu_started(LiveTask& task, std::uint32_t segment, std::uint64_t time,
                           std::uint64_t end) {
    last_end_ = std::max(last_end_, end);
    if (!in_window(time, end))
        return;
    // The density that is drawn instead shows FCs alone.
    if (timeline_.fcs.size() + timeline_.cpu.size() >= most_drawn && !density_.empty())
        overflowed_ = true;
    if (keeps_more())
        timeline_.cpu.push_back({.task = name_of(task),
                                 .tag = task.serial,
                                 .segment = segment,
                                 .start_ns = time * tick_ns_,
                                 .end_ns = end * tick_ns_,
                                 .request = task.serial});
}

void Pictures::preempted(LiveTask& task, unsigned core, std::uint64_t time) {
    if (!in_window(time, time + 1))
        return;
    density_.preempted(core, time * tick_ns_);
    if (keeps_more())
        timeline_.preemptions.push_back(
            {.core = core, .time_ns = time * tick_ns_, .tag = job_tag(task)});
}

void Pictures::demand_content() const {
    if (last_end_ > picture_limit_ && options_.to > picture_limit_)
        throw Error(ERANGE, "the run is too long for a picture: 584 years at most; give a window");
    if (density_.empty() && timeline_.cpu.empty())
        throw Error(ENODATA,
                    fmt::format("nothing ran from {} on{}; the last FC ended at {}",
                                format_time(in_us(options_.from, tick_ns_)),
                                options_.to == ~std::uint64_t{0}
                                    ? ""
                                    : " and before " + format_time(in_us(options_.to, tick_ns_)),
                                format_time(in_us(last_end_, tick_ns_))));
}

std::string Pictures::svg() const {
    if (overflowed_)
        return timeline::to_svg(density_, timeline_.title);
    return timeline::to_svg(timeline_, options_.from * tick_ns_,
                            std::min(last_end_, options_.to) * tick_ns_);
}

} // namespace overtake::simulator
