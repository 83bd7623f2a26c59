// SPDX-License-Identifier: MIT
#include "load/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace overtake::load {
namespace {

constexpr std::size_t bins_of_one_width = 10;
constexpr std::uint64_t finest_width_ns = 1000;
/// A load may be overloaded if its served share of the offered rate is below this. A higher share
/// may come from the end of a short run.
constexpr double served_well = 0.95;

std::size_t rank(std::size_t count, double percent) {
    const auto exact = percent / 100 * static_cast<double>(count);
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(exact - 1e-9)), 1, count);
}

/// Returns the next number of 1, 2, 5, 10, 20, ...
std::uint64_t next_round(std::uint64_t round) {
    std::uint64_t power = 1;
    while (round >= 10 * power)
        power *= 10;
    return round == 2 * power ? 5 * power : 2 * round;
}

std::vector<std::uint64_t> equal_borders(std::uint64_t least, std::uint64_t greatest) {
    std::uint64_t width = finest_width_ns;
    while (width * bins_of_one_width < greatest - least)
        width = next_round(width);
    std::vector<std::uint64_t> borders{least / width * width};
    while (borders.back() <= greatest)
        borders.push_back(borders.back() + width);
    return borders;
}

std::vector<std::uint64_t> growing_borders(std::uint64_t least, std::uint64_t greatest) {
    std::vector<std::uint64_t> borders{least < finest_width_ns ? 0 : finest_width_ns};
    while (borders.back() <= greatest) {
        const std::uint64_t next =
            borders.back() == 0 ? finest_width_ns : next_round(borders.back());
        if (next <= least)
            borders.back() = next;
        else
            borders.push_back(next);
    }
    return borders;
}

/// Returns the number of requests that were due and not done at `time_ns`.
std::uint64_t unfinished(const Outcome& outcome, std::uint64_t period_ns, std::uint64_t time_ns) {
    const std::uint64_t due = std::min((time_ns - outcome.begin_ns) / period_ns + 1,
                                       outcome.requests.size() + outcome.waiting);
    const auto done = static_cast<std::uint64_t>(std::ranges::count_if(
        outcome.requests, [&](const Request& request) { return request.done_ns <= time_ns; }));
    return due - std::min(due, done);
}

// A request that runs on the CPU alone never arrives at a device.
bool is_early(const Request& request) {
    return request.queued_ns != 0 && request.queued_ns < request.due_ns;
}

} // namespace

std::uint64_t percentile(std::span<const std::uint64_t> sorted, double percent) {
    return sorted[rank(sorted.size(), percent) - 1];
}

std::size_t beyond(std::size_t count, double percent) {
    return count - rank(count, percent);
}

std::vector<std::uint64_t> latencies(std::span<const Request> requests) {
    std::vector<std::uint64_t> out;
    for (const Request& request : requests)
        if (request.status == 0)
            out.push_back(request.end_ns - request.queued_ns);
    std::ranges::sort(out);
    return out;
}

std::uint64_t response_time(const Request& request) {
    const std::uint64_t begin_ns = is_early(request) ? request.queued_ns : request.due_ns;
    return request.done_ns - std::min(request.done_ns, begin_ns);
}

std::size_t count_early(std::span<const Request> requests) {
    return static_cast<std::size_t>(std::ranges::count_if(requests, is_early));
}

std::vector<std::uint64_t> response_times(std::span<const Request> requests) {
    std::vector<std::uint64_t> out;
    for (const Request& request : requests)
        if (request.status == 0)
            out.push_back(response_time(request));
    std::ranges::sort(out);
    return out;
}

std::vector<Bin> histogram(std::span<const std::uint64_t> sorted) {
    if (sorted.empty())
        return {};
    const std::uint64_t least = sorted.front();
    const std::uint64_t greatest = sorted.back();
    const auto borders =
        greatest / 10 <= least ? equal_borders(least, greatest) : growing_borders(least, greatest);
    std::vector<Bin> bins;
    auto from = sorted.begin();
    for (std::size_t index = 0; index + 1 < borders.size(); index++) {
        const auto to = std::lower_bound(from, sorted.end(), borders[index + 1]);
        bins.push_back({borders[index], borders[index + 1], static_cast<std::size_t>(to - from)});
        from = to;
    }
    return bins;
}

Rates rates(const Outcome& outcome, std::uint64_t period_us) {
    const std::uint64_t period_ns = period_us * 1000;
    const std::uint64_t due = outcome.requests.size() + outcome.waiting;
    std::uint64_t end_ns = outcome.begin_ns + due * period_ns;
    std::size_t served = 0;
    for (const Request& request : outcome.requests) {
        end_ns = std::max(end_ns, request.done_ns);
        served += request.status == 0 ? 1 : 0;
    }
    Rates rates{};
    if (served == 0)
        return rates;
    rates.served =
        static_cast<double>(served) * 1e9 / static_cast<double>(end_ns - outcome.begin_ns);
    if (period_us == 0)
        return rates;
    rates.offered = 1e6 / static_cast<double>(period_us);
    const std::uint64_t last_due_ns = outcome.begin_ns + (due - 1) * period_ns;
    const std::uint64_t middle_ns = outcome.begin_ns + (last_due_ns - outcome.begin_ns) / 2;
    rates.overloaded =
        rates.served < served_well * rates.offered &&
        unfinished(outcome, period_ns, last_due_ns) > unfinished(outcome, period_ns, middle_ns) + 1;
    return rates;
}

} // namespace overtake::load
