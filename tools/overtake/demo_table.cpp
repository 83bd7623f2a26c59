// SPDX-License-Identifier: MIT
#include "demo_table.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace overtake::command {
namespace {

std::string of_large(const demo::Row& row, const demo::Figures& figures) {
    if (!row.large)
        return "";
    return fmt::format(" {:7.1f} {:9.1f}% {:9}", figures.large_per_second,
                       100 * figures.large_per_second / figures.fair_per_second,
                       figures.preemptions);
}

/// Says which row differs, and what of it is the host's doing.
void name_difference(const demo::Row& row, const demo::Figures& predicted,
                     const Measurement& measurement) {
    const demo::Figures& measured = measurement.spread.median;
    const demo::Figures& replayed = measurement.replayed;
    fmt::print("{:14} | differs from the prediction by {:+.1f} % in p50, {:+.1f} % in p99\n",
               row.name, difference_percent(measured.p50_ns, predicted.p50_ns),
               difference_percent(measured.p99_ns, predicted.p99_ns));
    fmt::print("{:14} | predicted from the measured arrivals: p50 {:.2f}, p99 {:.2f}", "",
               ms(replayed.p50_ns), ms(replayed.p99_ns));
    if (row.large)
        fmt::print("; the large client took {:.2f} ms to send its next request",
                   ms(measured.large_turnaround_ns));
    fmt::print("\n");
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
    if (setup.repeat > 1)
        fmt::print("Each row is run {} times; figures are medians.\n", setup.repeat);
}

void print_predicted_head() {
    fmt::print("\n{:14} | {:^36} | {}\n", "predicted", "detector", "large network");
    fmt::print("{:14} | {:>8} {:>8} {:>8} {:>9} | {:>7} {:>10} {:>9}\n", "set-up", "p50 ms",
               "p99 ms", "max ms", "p99/alone", "req/s", "fair share", "overtaken");
    fmt::print("{:-<15}+{:-<38}+{:-<30}\n", "", "", "");
}

void print_predicted(const demo::Row& row, const demo::Figures& figures,
                     std::uint64_t alone_p99_ns) {
    fmt::print("{:14} | {:8.2f} {:8.2f} {:8.2f} {:8.1f}x |{}\n", row.name, ms(figures.p50_ns),
               ms(figures.p99_ns), ms(figures.max_ns),
               static_cast<double>(figures.p99_ns) / static_cast<double>(alone_p99_ns),
               of_large(row, figures));
    std::fflush(stdout);
}

void print_measured_head() {
    fmt::print("\n{:14} | {:^17} | {:^17} | {:^17} | {}\n", "measured", "detector p50 ms",
               "detector p99 ms", "detector", "large network");
    fmt::print("{:14} | {:>8} {:>8} | {:>8} {:>8} | {:>7} {:>9} | {:>7} {:>10} {:>9}\n", "set-up",
               "predict.", "measured", "predict.", "measured", "max ms", "p99/alone", "req/s",
               "fair share", "overtaken");
    fmt::print("{:-<15}+{:-<19}+{:-<19}+{:-<19}+{:-<30}\n", "", "", "", "", "");
}

void print_measured(const RowResult& result, std::uint64_t alone_p99_ns) {
    const demo::Row& row = result.row;
    const demo::Figures& predicted = result.predicted.figures;
    const Measurement& measurement = result.measured.value();
    const demo::Figures& measured = measurement.spread.median;
    fmt::print("{:14} | {:8.2f} {:8.2f} | {:8.2f} {:8.2f} | {:7.2f} {:8.1f}x |{}\n", row.name,
               ms(predicted.p50_ns), ms(measured.p50_ns), ms(predicted.p99_ns), ms(measured.p99_ns),
               ms(measured.max_ns),
               static_cast<double>(measured.p99_ns) / static_cast<double>(alone_p99_ns),
               of_large(row, measured));
    if (measurement.runs.size() > 1)
        print_range(row, measurement);
    if (differs(measured, predicted))
        name_difference(row, predicted, measurement);
    std::fflush(stdout);
}

void print_busy(const DemoResults& results) {
    if (results.busy.empty())
        return;
    fmt::print("\nThis machine was busy: {}.\nSome of the above is its doing rather than the "
               "device's. ",
               fmt::join(results.busy, "; "));
    if (results.setup.repeat == 1)
        fmt::print("--repeat 5 (make demo REPEAT=5) runs each row five times and shows medians.\n");
    else
        fmt::print("More runs (--repeat, make demo REPEAT=...) make the medians steadier.\n");
}

} // namespace overtake::command
