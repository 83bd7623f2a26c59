// SPDX-License-Identifier: MIT
//
// overtake demo on a device.
#include <sys/utsname.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands.hpp"
#include "demo_command.hpp"
#include "demo_measure.hpp"
#include "demo_table.hpp"
#include "device_facts.hpp"
#include "load/demo/busy.hpp"
#include "progress.hpp"

namespace overtake::command {
namespace {

/// Measures a row, again if the host disturbed it, at most most_attempts times. The attempt nearest
/// to the prediction counts.
void measure_until_it_agrees(const DemoResults& results, RowResult& result, Device& device) {
    const auto p99_off = [&](const Measurement& measurement) {
        return std::abs(
            difference_percent(measurement.spread.median.p99_ns, result.predicted.figures.p99_ns));
    };
    for (unsigned attempt = 1; attempt <= most_attempts; attempt++) {
        ProgressBar progress; // gone before the row is printed
        const auto show = [&](double done) { progress.show(result.row.name, done); };
        Measurement next = measure(results.setup, result.row, results.large_cost_ns, device, show);
        if (!result.measured || p99_off(next) < p99_off(*result.measured))
            result.measured = std::move(next);
        result.measured->attempts = attempt;
        if (!is_disturbed(result))
            return;
    }
}

/// Measures the set-up that a late host affects most. Returns 0 if its p99 is not too far above the
/// prediction.
int probe(DemoSetup setup) {
    setup.load.requests = probe_requests;
    DemoResults results;
    results.setup = setup;
    results.large_cost_ns = measure_cost(setup, setup.networks.large);
    const demo::Row& row = demo::rows().back();
    auto device = open_device(setup.device);
    const auto predicted = demo::predict(row, setup.networks, setup.load).figures;
    const auto measured =
        measure(setup, row, results.large_cost_ns, *device, [](double) {}).spread.median;
    const double off = difference_percent(measured.p99_ns, predicted.p99_ns);
    fmt::print("this host at time scale {}: p99 of \"{}\" {:.2f} ms, predicted {:.2f} ms\n",
               setup.time_scale, row.name, ms(measured.p99_ns), ms(predicted.p99_ns));
    return off > probe_percent ? 1 : 0;
}

void measure_rows(DemoResults& results, bool in_words) {
    const DemoSetup& setup = results.setup;
    const demo::MachineLoad machine = demo::machine_load();
    results.large_cost_ns = measure_cost(setup, setup.networks.large);
    results.rows = predict_rows(setup);
    auto device = open_device(setup.device);
    if (in_words) {
        print_introduction(setup, results.large_cost_ns);
        print_measured_head();
    }
    std::vector<std::pair<std::string, demo::Figures>> figures;
    for (RowResult& result : results.rows) {
        measure_until_it_agrees(results, result, *device);
        if (in_words && !is_disturbed(result))
            print_measured(result);
        figures.emplace_back(result.row.name, result.measured->spread.median);
    }
    results.busy = demo::busy_signs(machine, figures, setup.load.period_us);
    utsname kernel{};
    uname(&kernel);
    results.kernel = fmt::format("{} {}", kernel.sysname, kernel.release);
    if (in_words) {
        print_disturbed(results);
        print_busy(results);
    }
}

void check_device(const DemoSetup& setup) {
    if (node_of(setup.device).empty() && !setup.device.starts_with("server:"))
        throw CLI::ValidationError("--device",
                                   setup.device + " cannot be shared by the demo's two clients; "
                                                  "name a kernel device or server:SOCKET (overtake "
                                                  "serve --mode timed), or add --predict");
}

} // namespace

void add_demo_measuring(CLI::App& app, int& status) {
    add_demo_with(app, status, {check_device, probe, measure_rows});
}

} // namespace overtake::command
