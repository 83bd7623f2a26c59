// SPDX-License-Identifier: MIT
//
// overtake calibrate: this machine as a profile, and how well a profile foretells it.
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "host_profile.hpp"
#include "measure.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "overtake/device.hpp"
#include "overtake/model.hpp"
#include "progress.hpp"
#include "simulator/models.hpp"

namespace overtake::command {
namespace {

struct Options {
    std::string output;
    std::string name = "host";
    std::vector<std::string> models;
    unsigned runs = 25;
};

std::string percent(double part) {
    return fmt::format("{:.1f} %", part * 100);
}

void calibrate(const Options& options) {
    check_output_file(options.output, options.models);
    host_profile::HostProfile host;
    {
        ProgressBar bar;
        host = host_profile::measure_host(options.name, options.runs,
                                          [&](double done) { bar.show("measuring", done); });
    }
    const std::string text = compiler::profile_file(*host.profile);
    write_file(options.output, [&](std::ostream& file) { file << text; });
    fmt::print("{}: {} instructions measured, error of the model: median {}, p95 {}\n",
               options.output, host.errors.count, percent(host.errors.median),
               percent(host.errors.p95));
}

// Modelled against measured time of the FCs of a compiled model.
void check(const std::string& path, unsigned runs) {
    const auto model = Model::load(path);
    std::vector<double> modelled;
    for (const Segment& segment : model->segments())
        for (const std::uint64_t ns : simulator::modelled_ns(*model, segment))
            modelled.push_back(static_cast<double>(ns));
    ProgressBar bar;
    const auto times =
        host_profile::measure(model, runs, [&](double done) { bar.show(path, done); });
    const host_profile::Errors errors = host_profile::compare(modelled, times.fcs_ns);
    double total = 0;
    for (const double ns : modelled)
        total += ns;
    fmt::print("{}: {} FCs, {:.2f} ms modelled, {:.2f} ms measured; error of an FC: median {}, "
               "p95 {}\n",
               path, errors.count, total / 1e6, times.total_ns / 1e6, percent(errors.median),
               percent(errors.p95));
}

int run_calibrate(const Options& options) {
    if (options.output.empty() && options.models.empty())
        throw CLI::RequiredError("-o FILE.yaml, to measure this machine, or MODEL, to check one,");
    if (!options.output.empty())
        calibrate(options);
    for (const std::string& path : options.models)
        check(path, options.runs);
    return 0;
}

} // namespace

void add_calibrate(CLI::App& app, int& status) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand(
        "calibrate", "Measure this machine's embedded device and write its profile");
    command->add_option("-o,--output", options->output,
                        "Profile file to write, for overtake compile --profile");
    command->add_option("--name", options->name, "Name of the profile")
        ->check(not_empty())
        ->capture_default_str();
    command->add_option("--runs", options->runs, "Runs; the fastest counts")
        ->check(whole_number(1, 100000))
        ->capture_default_str();
    command->add_option(
        "MODEL", options->models,
        "Compiled models (.ovm) to run: modelled against measured time of their FCs");
    command->callback([options, &status] { status = run_calibrate(*options); });
}

} // namespace overtake::command
