// SPDX-License-Identifier: MIT
#include "demo_table.hpp"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace overtake::command {
namespace {

/// Beyond this a row of the measurement is named.
constexpr double tolerance_percent = 5;

double ms(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e6;
}

double difference_percent(std::uint64_t measured, std::uint64_t predicted) {
    return 100 * (static_cast<double>(measured) / static_cast<double>(predicted) - 1);
}

bool differs(const demo::Figures& measured, const demo::Figures& predicted) {
    return std::abs(difference_percent(measured.p50_ns, predicted.p50_ns)) > tolerance_percent ||
           std::abs(difference_percent(measured.p99_ns, predicted.p99_ns)) > tolerance_percent;
}

std::string of_large(const demo::Row& row, const demo::Figures& figures) {
    if (!row.large)
        return "";
    return fmt::format(" {:7.1f} {:9.1f}% {:9}", figures.large_per_second,
                       100 * figures.large_per_second / figures.fair_per_second,
                       figures.preemptions);
}

/// Says which row differs, and what of it is the host's doing.
void name_difference(const demo::Row& row, const RowFigures& figures) {
    const auto& [predicted, measured, replayed] = figures;
    fmt::print("{:14} | differs from the prediction by {:+.1f} % in p50, {:+.1f} % in p99\n",
               row.name, difference_percent(measured.p50_ns, predicted.p50_ns),
               difference_percent(measured.p99_ns, predicted.p99_ns));
    fmt::print("{:14} | predicted from the requests as they came here: p50 {:.2f}, p99 {:.2f}", "",
               ms(replayed.p50_ns), ms(replayed.p99_ns));
    if (row.large)
        fmt::print("; the large client took {:.2f} ms to follow up one",
                   ms(measured.large_turnaround_ns));
    fmt::print("\n");
}

} // namespace

nlohmann::ordered_json print_predicted(const demo::Networks& networks, const demo::Load& load) {
    auto json = nlohmann::ordered_json::array();
    fmt::print("\n{:14} | {:^36} | {}\n", "predicted", "detector", "large network");
    fmt::print("{:14} | {:>8} {:>8} {:>8} {:>9} | {:>7} {:>10} {:>9}\n", "set-up", "p50 ms",
               "p99 ms", "max ms", "p99/alone", "req/s", "fair share", "overtaken");
    fmt::print("{:-<15}+{:-<38}+{:-<30}\n", "", "", "");
    std::uint64_t alone_p99_ns = 0;
    for (const demo::Row& row : demo::rows()) {
        const demo::Figures figures = demo::predict(row, networks, load);
        if (!row.large)
            alone_p99_ns = figures.p99_ns;
        fmt::print("{:14} | {:8.2f} {:8.2f} {:8.2f} {:8.1f}x |{}\n", row.name, ms(figures.p50_ns),
                   ms(figures.p99_ns), ms(figures.max_ns),
                   static_cast<double>(figures.p99_ns) / static_cast<double>(alone_p99_ns),
                   of_large(row, figures));
        json.push_back(to_json(row, figures));
    }
    std::fflush(stdout);
    return json;
}

void print_measured_head() {
    fmt::print("\n{:14} | {:^17} | {:^17} | {:^17} | {}\n", "measured", "detector p50 ms",
               "detector p99 ms", "detector", "large network");
    fmt::print("{:14} | {:>8} {:>8} | {:>8} {:>8} | {:>7} {:>9} | {:>7} {:>10} {:>9}\n", "set-up",
               "predict.", "measured", "predict.", "measured", "max ms", "p99/alone", "req/s",
               "fair share", "overtaken");
    fmt::print("{:-<15}+{:-<19}+{:-<19}+{:-<19}+{:-<30}\n", "", "", "", "", "");
}

void print_measured(const demo::Row& row, const RowFigures& figures, std::uint64_t alone_p99_ns) {
    const auto& [predicted, measured, replayed] = figures;
    fmt::print("{:14} | {:8.2f} {:8.2f} | {:8.2f} {:8.2f} | {:7.2f} {:8.1f}x |{}\n", row.name,
               ms(predicted.p50_ns), ms(measured.p50_ns), ms(predicted.p99_ns), ms(measured.p99_ns),
               ms(measured.max_ns),
               static_cast<double>(measured.p99_ns) / static_cast<double>(alone_p99_ns),
               of_large(row, measured));
    if (differs(measured, predicted))
        name_difference(row, figures);
    if (measured.large_ran_dry != 0)
        fmt::print("{:14} | this machine was too busy: {} times the large network had nothing "
                   "waiting\n",
                   "", measured.large_ran_dry);
    std::fflush(stdout);
}

nlohmann::ordered_json to_json(const demo::Row& row, const demo::Figures& figures) {
    return {{"set_up", row.name},
            {"requests", figures.requests},
            {"p50_us", static_cast<double>(figures.p50_ns) / 1e3},
            {"p99_us", static_cast<double>(figures.p99_ns) / 1e3},
            {"max_us", static_cast<double>(figures.max_ns) / 1e3},
            {"large_per_second", figures.large_per_second},
            {"large_fair_per_second", figures.fair_per_second},
            {"large_ran_dry", figures.large_ran_dry},
            {"large_turnaround_us", static_cast<double>(figures.large_turnaround_ns) / 1e3},
            {"large_preemptions", figures.preemptions}};
}

} // namespace overtake::command
