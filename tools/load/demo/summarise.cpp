// SPDX-License-Identifier: MIT
#include <algorithm>

#include "load/demo/demo.hpp"
#include "load/statistics.hpp"

namespace overtake::demo {
namespace {

/// Returns the part of a request of the large network that was executed in [from, to). Outside this
/// window no detector runs, so the request has the core to itself there. Inside, the request was
/// not executed while it was overtaken.
double part_inside(const load::Request& request, std::uint64_t from, std::uint64_t to) {
    if (request.executed_ns == 0 || request.end_ns <= from || request.start_ns >= to)
        return 0;
    const std::uint64_t before = from - std::min(from, request.start_ns);
    const std::uint64_t behind = request.end_ns - std::min(to, request.end_ns);
    const std::uint64_t outside = std::min(before + behind, request.executed_ns);
    return 1 - static_cast<double>(outside) / static_cast<double>(request.executed_ns);
}

/// Returns the median time from the end of a request to the arrival of the request that takes its
/// place. Each request except the first few takes the place of one that ended.
std::uint64_t median_turnaround(const std::vector<load::Request>& requests, std::uint64_t from,
                                std::uint64_t to) {
    std::vector<std::uint64_t> ends;
    for (const load::Request& request : requests)
        ends.push_back(request.end_ns);
    std::ranges::sort(ends);
    std::vector<std::uint64_t> turnarounds;
    for (std::size_t i = large_in_flight; i < requests.size(); i++) {
        const std::uint64_t queued = requests[i].queued_ns;
        const std::uint64_t end = ends[i - large_in_flight];
        if (queued >= from && queued < to && queued >= end)
            turnarounds.push_back(queued - end);
    }
    std::ranges::sort(turnarounds);
    return turnarounds.empty() ? 0 : load::percentile(turnarounds, 50);
}

/// Returns the 99th percentile of the requests' lateness, compared with the most punctual request.
/// Request i is due i periods after the first.
std::uint64_t lateness_p99(const std::vector<load::Request>& requests, unsigned period_us) {
    std::vector<std::int64_t> lateness;
    for (std::size_t i = 0; i < requests.size(); i++)
        lateness.push_back(static_cast<std::int64_t>(requests[i].queued_ns) -
                           static_cast<std::int64_t>(i) * period_us * std::int64_t{ns_per_us});
    const std::int64_t most_punctual = std::ranges::min(lateness);
    std::vector<std::uint64_t> sorted;
    for (const std::int64_t late : lateness)
        sorted.push_back(static_cast<std::uint64_t>(late - most_punctual));
    std::ranges::sort(sorted);
    return load::percentile(sorted, 99);
}

} // namespace

const std::vector<Row>& rows() {
    static const std::vector<Row> all = {
        {"alone", false, false, false},       {"neither", true, false, false},
        {"priority only", true, true, false}, {"split only", true, false, true},
        {"both", true, true, true},
    };
    return all;
}

Figures summarise(const std::vector<load::Request>& detector,
                  const std::vector<load::Request>& large, std::uint64_t large_cost_ns,
                  unsigned period_us) {
    Figures figures{};
    auto sorted = load::latencies(detector);
    figures.requests = detector.size();
    figures.failed = detector.size() - sorted.size();
    if (sorted.empty())
        return figures;
    figures.p50_ns = load::percentile(sorted, 50);
    figures.p99_ns = load::percentile(sorted, 99);
    figures.max_ns = sorted.back();
    figures.late_ns = lateness_p99(detector, period_us);

    std::uint64_t from = detector.front().queued_ns;
    std::uint64_t to = 0;
    std::uint64_t detector_ns = 0;
    for (const load::Request& request : detector) {
        to = std::max(to, request.end_ns);
        detector_ns += request.executed_ns;
    }
    double served = 0;
    std::uint64_t previous_end = to;
    for (const load::Request& request : large) {
        served += part_inside(request, from, to);
        if (request.queued_ns >= from && request.queued_ns < to && request.queued_ns > previous_end)
            figures.large_ran_dry++;
        previous_end = request.end_ns;
        figures.preemptions += request.preemptions;
    }
    figures.large_turnaround_ns = median_turnaround(large, from, to);
    auto seconds = static_cast<double>(to - from) / 1e9;
    auto left = static_cast<double>(to - from) - static_cast<double>(detector_ns);
    figures.large_per_second = served / seconds;
    figures.fair_per_second = left / static_cast<double>(large_cost_ns) / seconds;
    return figures;
}

} // namespace overtake::demo
