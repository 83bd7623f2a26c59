// SPDX-License-Identifier: MIT
#include "observe/watch/latency.hpp"

#include <fmt/format.h>

#include "drop_oldest.hpp"

namespace overtake::watch {

namespace {

constexpr unsigned highest_priority = 255;

} // namespace

void Latency::add(const Job& job) {
    const bool by_priority =
        grouping_ == Grouping::priority || grouping_ == Grouping::priority_and_model;
    const bool by_model = grouping_ == Grouping::model || grouping_ == Grouping::priority_and_model;
    std::string name;
    if (by_model)
        name = job.model != 0 ? model_name(job.model) : "no model";
    else if (grouping_ == Grouping::process)
        name = owner_name(0, job.pid);
    const auto [found, is_new] =
        groups_.try_emplace({by_priority ? highest_priority - job.priority : 0, name});
    Group& group = found->second;
    const std::size_t before = is_new ? 0 : group.entries();
    count(group, job);
    group.last = ++jobs_;
    entries_ += group.entries() - before;
    if (entries_ > most_entries && groups_.size() > 1)
        dropped_ += drop_oldest(
            groups_, [](const auto& of) { return of.second.last; },
            [&](auto oldest) {
                entries_ -= oldest->second.entries();
                return groups_.erase(oldest);
            });
}

void Latency::count(Group& group, const Job& job) {
    if (job.status != 0 || job.start_ns == 0) {
        group.failed++;
        return;
    }
    group.wait.add(job.start_ns - job.queued_ns);
    group.run.add(job.end_ns - job.start_ns);
    group.total.add(job.end_ns - job.queued_ns);
    group.preemptions += job.preemptions;
}

std::string group_name(Grouping grouping, const std::tuple<unsigned, std::string>& key) {
    const auto& [below, name] = key;
    const std::string priority = fmt::format("priority {}", highest_priority - below);
    switch (grouping) {
    case Grouping::priority:
        return priority;
    case Grouping::priority_and_model:
        return fmt::format("{}, {}", priority, name);
    case Grouping::model:
    case Grouping::process:
        break;
    }
    return name;
}

} // namespace overtake::watch
