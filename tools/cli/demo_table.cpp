// SPDX-License-Identifier: MIT
#include "demo_table.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace overtake::command {
namespace {

/// Returns the large network's share of the rate that the detector leaves.
std::string share_of_large(const demo::Row& row, const demo::Figures& figures) {
    if (!row.large)
        return "";
    return fmt::format("{:5.1f} %", 100 * figures.large_per_second / figures.fair_per_second);
}

void print_range(const demo::Row& row, const Measurement& measured) {
    const demo::Figures& least = measured.spread.least;
    const demo::Figures& most = measured.spread.most;
    fmt::print("{:14} | of {} runs: p50 {:.2f}..{:.2f}, p99 {:.2f}..{:.2f}, max {:.2f}..{:.2f} ms",
               "", measured.runs.size(), ms(least.p50_ns), ms(most.p50_ns), ms(least.p99_ns),
               ms(most.p99_ns), ms(least.max_ns), ms(most.max_ns));
    if (row.large)
        fmt::print("; {:.1f}..{:.1f} req/s", least.large_per_second, most.large_per_second);
    fmt::print("\n");
}

} // namespace

void print_introduction(const DemoSetup& setup, std::uint64_t large_cost_ns) {
    fmt::print("A detector every {} ms beside a large network of {:.1f} ms that always has three "
               "requests in flight,\non one core; {} detector requests in each row; device time.\n",
               setup.load.period_us / 1000.0, ms(large_cost_ns), setup.load.requests);
    if (setup.time_scale > 1)
        fmt::print("This host is late, so the device's clock is 1/{0} of the profile's: everything "
                   "takes {0} times as long, and times are printed divided by {0}.\n",
                   setup.time_scale);
    if (setup.repeat > 1)
        fmt::print("Each row is run {} times; figures are medians.\n", setup.repeat);
}

void print_predicted_head() {
    fmt::print("\n{:14} | {:>12} | {:>9} | {}\n", "predicted", "detector", "beside", "large");
    fmt::print("{:14} | {:>12} | {:>9} | {}\n", "set-up", "p99, ms", "alone", "network gets");
    fmt::print("{:-<15}+{:-<14}+{:-<11}+{:-<13}\n", "", "", "", "");
}

void print_predicted(const demo::Row& row, const demo::Figures& figures,
                     std::uint64_t alone_p99_ns) {
    fmt::print("{:14} | {:12.2f} | {:8.1f}x | {}\n", row.name, ms(figures.p99_ns),
               static_cast<double>(figures.p99_ns) / static_cast<double>(alone_p99_ns),
               share_of_large(row, figures));
    std::fflush(stdout);
}

void print_measured_head() {
    fmt::print("\n{:14} | {:>13} | {:>12} | {}\n", "measured", "detector p99", "detector p99",
               "large");
    fmt::print("{:14} | {:>13} | {:>12} | {}\n", "set-up", "predicted, ms", "measured, ms",
               "network gets");
    fmt::print("{:-<15}+{:-<15}+{:-<14}+{:-<13}\n", "", "", "", "");
}

void print_measured(const RowResult& result) {
    const demo::Figures& measured = result.measured.value().spread.median;
    fmt::print("{:14} | {:13.2f} | {:12.2f} | {}\n", result.row.name,
               ms(result.predicted.figures.p99_ns), ms(measured.p99_ns),
               share_of_large(result.row, measured));
    if (result.measured->runs.size() > 1)
        print_range(result.row, *result.measured);
    std::fflush(stdout);
}

void print_disturbed(const DemoResults& results) {
    bool is_first = true;
    for (const RowResult& result : results.rows) {
        if (!is_disturbed(result))
            continue;
        const demo::Figures& predicted = result.predicted.figures;
        const demo::Figures& measured = result.measured->spread.median;
        const demo::Figures& replayed = result.measured->replayed;
        if (is_first)
            fmt::print("\nNot in the table, since their p99 is more than {:.0f} % off the "
                       "prediction in each of {} attempts:\n",
                       disturbed_percent, most_attempts);
        is_first = false;
        fmt::print("{:14}   p99 {:.2f} ms, predicted {:.2f}; p50 {:.2f} ms, predicted {:.2f}. With "
                   "the arrivals that were\n{:14}   measured the simulator says p99 {:.2f}, p50 "
                   "{:.2f}: the rest is the host's lateness",
                   result.row.name, ms(measured.p99_ns), ms(predicted.p99_ns), ms(measured.p50_ns),
                   ms(predicted.p50_ns), "", ms(replayed.p99_ns), ms(replayed.p50_ns));
        if (result.row.large)
            fmt::print(", {:.2f} ms to send the next\n{:14}   request of the large network",
                       ms(measured.large_turnaround_ns), "");
        fmt::print(".\n");
    }
}

void print_busy(const DemoResults& results) {
    if (results.busy.empty())
        return;
    fmt::print("\nThis machine was busy: {}.\nThe machine, not the device, "
               "causes some of the above. ",
               fmt::join(results.busy, "; "));
    if (results.setup.repeat == 1)
        fmt::print("--repeat 5 (make demo REPEAT=5) runs each row five times and shows medians.\n");
    else
        fmt::print("More runs (--repeat, make demo REPEAT=...) make the medians steadier.\n");
}

} // namespace overtake::command
