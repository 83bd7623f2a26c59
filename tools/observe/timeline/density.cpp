// SPDX-License-Identifier: MIT
#include "observe/timeline/density.hpp"

#include <algorithm>

namespace overtake::timeline {
namespace {

constexpr std::string_view other_tasks = "other tasks";

} // namespace

void Density::add(unsigned core, bool high, std::string_view task, std::uint64_t start_ns,
                  std::uint64_t end_ns) {
    if (end_ns <= start_ns)
        return;
    cover(start_ns, end_ns);
    const std::size_t series = 2 * task_index(task) + (high ? 1 : 0);
    auto& busy = cores_[core].busy;
    if (busy.size() <= series)
        busy.resize(series + 1);
    if (busy[series].empty())
        busy[series].resize(max_bins);
    Bins& bins = busy[series];
    while (start_ns < end_ns) {
        const std::uint64_t bin = start_ns >> shift_;
        // In the last bin of all times, the bin's end would wrap to 0.
        const std::uint64_t bin_end = (bin << shift_) + (bin_ns() - 1);
        const std::uint64_t part = std::min(end_ns - start_ns, bin_end - start_ns + 1);
        bins[bin % max_bins] += part;
        start_ns += part;
    }
}

void Density::preempted(unsigned core, std::uint64_t time_ns) {
    cover(time_ns, time_ns + 1);
    Bins& bins = cores_[core].preemptions;
    if (bins.empty())
        bins.resize(max_bins);
    bins[(time_ns >> shift_) % max_bins]++;
}

std::vector<unsigned> Density::cores() const {
    std::vector<unsigned> numbers;
    for (const auto& [number, core] : cores_)
        numbers.push_back(number);
    return numbers;
}

std::uint64_t Density::busy_ns(unsigned core, bool high, std::size_t task,
                               std::uint64_t time_ns) const {
    const auto found = cores_.find(core);
    const std::size_t series = 2 * task + (high ? 1 : 0);
    if (found == cores_.end() || found->second.busy.size() <= series ||
        found->second.busy[series].empty() || !covers(time_ns))
        return 0;
    return found->second.busy[series][(time_ns >> shift_) % max_bins];
}

std::uint64_t Density::preemptions(unsigned core, std::uint64_t time_ns) const {
    const auto found = cores_.find(core);
    if (found == cores_.end() || found->second.preemptions.empty() || !covers(time_ns))
        return 0;
    return found->second.preemptions[(time_ns >> shift_) % max_bins];
}

bool Density::covers(std::uint64_t time_ns) const {
    return !empty() && time_ns >> shift_ >= first_ns_ >> shift_ &&
           time_ns >> shift_ <= (last_ns_ - 1) >> shift_;
}

std::size_t Density::task_index(std::string_view name) {
    if (const auto found = index_.find(name); found != index_.end())
        return found->second;
    if (tasks_.size() == max_tasks + 1)
        return max_tasks;
    const bool kept = tasks_.size() < max_tasks;
    tasks_.emplace_back(kept ? name : other_tasks);
    if (kept)
        index_.emplace(name, tasks_.size() - 1);
    return tasks_.size() - 1;
}

/// Makes the bins wide enough for the run so far and for [from_ns, to_ns).
void Density::cover(std::uint64_t from_ns, std::uint64_t to_ns) {
    const std::uint64_t first = std::min(first_ns_, from_ns);
    const std::uint64_t last = std::max(last_ns_, to_ns);
    while (((last - 1) >> shift_) - (first >> shift_) >= max_bins)
        double_bins();
    first_ns_ = first;
    last_ns_ = last;
}

void Density::double_bins() {
    if (!empty()) {
        const std::uint64_t first = first_ns_ >> shift_;
        const std::uint64_t last = (last_ns_ - 1) >> shift_;
        for (auto& [number, core] : cores_) {
            for (Bins& bins : core.busy)
                join_pairs(bins, first, last);
            join_pairs(core.preemptions, first, last);
        }
    }
    shift_++;
}

void Density::join_pairs(Bins& bins, std::uint64_t first, std::uint64_t last) {
    if (bins.empty())
        return;
    Bins joined(max_bins);
    for (std::uint64_t bin = first; bin <= last; bin++)
        joined[bin / 2 % max_bins] += bins[bin % max_bins];
    bins.swap(joined);
}

} // namespace overtake::timeline
