// SPDX-License-Identifier: MIT
//
// overtake calibrate: measures this machine as a profile, and how well a profile predicts its
// times.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate_partition.hpp"
#include "commands.hpp"
#include "compiler/host_profile/host_profile.hpp"
#include "compiler/host_profile/layout_costs.hpp"
#include "compiler/host_profile/measure.hpp"
#include "compiler/layout_costs_file.hpp"
#include "cpu/layout.hpp"
#include "json_text.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "overtake/device.hpp"
#include "overtake/model.hpp"
#include "overtake/model_contents.hpp"
#include "progress.hpp"
#include "simulator/models.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

struct CalibrateOptions {
    std::string output;
    std::string name = "host";
    std::vector<std::string> models;
    unsigned runs = 25;
    bool json = false;
    bool cpu = false;
    bool partition = false;
    bool no_trees = false;
    std::string of_profile;
    std::size_t pieces = 20000;
};

std::string percent(double part) {
    return fmt::format("{:.1f} %", part * 100);
}

// Returns the result as JSON, or prints it.
Json calibrate(const CalibrateOptions& options) {
    check_output_file(options.output, options.models);
    host_profile::HostProfile host;
    {
        ProgressBar bar;
        host = host_profile::measure_host(options.name, options.runs,
                                          [&](double done) { bar.show("measuring", done); });
    }
    const std::string text = compiler::profile_file(*host.profile);
    write_file(options.output, [&](std::ostream& file) { file << text; });
    if (options.json)
        return {{"file", options.output},
                {"name", options.name},
                {"instructions", host.errors.count},
                {"error_median", host.errors.median},
                {"error_p95", host.errors.p95}};
    fmt::print("{}: {} instructions measured, error of the model: median {}, p95 {}\n",
               options.output, host.errors.count, percent(host.errors.median),
               percent(host.errors.p95));
    return {};
}

// Compares modelled with measured times of the FCs of a compiled model.
Json check(const std::string& path, const CalibrateOptions& options) {
    const auto model = Model::load(path);
    std::vector<double> modelled;
    for (const Segment& segment : ModelContents::of(*model).segments)
        for (const std::uint64_t ns : simulator::modelled_ns(*model, segment))
            modelled.push_back(static_cast<double>(ns));
    ProgressBar bar;
    const auto times =
        host_profile::measure(model, options.runs, [&](double done) { bar.show(path, done); });
    const host_profile::Errors errors = host_profile::compare(modelled, times.fcs_ns);
    double total = 0;
    for (const double ns : modelled)
        total += ns;
    if (options.json)
        return {{"model", path},
                {"fcs", errors.count},
                {"modelled_ms", total / 1e6},
                {"measured_ms", times.device_ns / 1e6},
                {"error_median", errors.median},
                {"error_p95", errors.p95}};
    fmt::print("{}: {} FC{}, {:.2f} ms modelled, {:.2f} ms measured; error of an FC: median {}, "
               "p95 {}\n",
               path, errors.count, errors.count == 1 ? "" : "s", total / 1e6, times.device_ns / 1e6,
               percent(errors.median), percent(errors.p95));
    return {};
}

int run_partition(const CalibrateOptions& options) {
    if (options.output.empty())
        throw CLI::RequiredError("-o FILE.json, for the costs,");
    calibrate_partition(
        {options.models, options.of_profile, options.pieces, options.runs, !options.no_trees},
        options.output, options.json);
    return 0;
}

int run_cpu(const CalibrateOptions& options) {
    if (options.output.empty())
        throw CLI::RequiredError("-o FILE.yaml, for the costs,");
    check_output_file(options.output);
    cpu::LayoutCosts costs;
    {
        ProgressBar bar;
        costs = host_profile::measure_layout_costs(
            options.runs, [&](double done) { bar.show("measuring", done); });
    }
    const std::string machine = fmt::format("overtake calibrate --cpu: one thread, {}",
                                            cpu::name_of(cpu::blocks_of_this_cpu()));
    const std::string text = compiler::layout_costs_file(costs, machine);
    write_file(options.output, [&](std::ostream& file) { file << text; });
    if (options.json) {
        Json numbers;
        for (const cpu::LayoutCost& cost : cpu::layout_cost_names())
            numbers[cost.name] = costs.*cost.number;
        fmt::print("{}\n", text_of(Json{{"file", options.output}, {"costs", numbers}}));
    } else {
        fmt::print("{}: a conversion between planes and {} takes {:.2f} ns for each float, a "
                   "function of one element {:.2f} ns\n",
                   options.output, cpu::name_of(cpu::blocks_of_this_cpu()), costs.conversion,
                   costs.element);
    }
    return 0;
}

int run_calibrate(const CalibrateOptions& options) {
    if (options.partition)
        return run_partition(options);
    if (options.cpu)
        return run_cpu(options);
    if (options.output.empty() && options.models.empty())
        throw CLI::RequiredError("-o FILE.yaml, to measure this machine, or MODEL, to check one,");
    Json json = {{"profile", nullptr}, {"models", Json::array()}};
    if (!options.output.empty())
        json["profile"] = calibrate(options);
    for (const std::string& path : options.models)
        json["models"].push_back(check(path, options));
    if (options.json)
        fmt::print("{}\n", text_of(json));
    return 0;
}

} // namespace

void add_calibrate(CLI::App& app, int& status) {
    auto options = std::make_shared<CalibrateOptions>();
    auto* command = app.add_subcommand(
        "calibrate", "Measure this machine's embedded device and write its profile");
    command->add_option("-o,--output", options->output,
                        "Profile file to write, for overtake compile --profile");
    command->add_option("--name", options->name, "Name of the profile")
        ->check(not_empty())
        ->capture_default_str();
    command->add_option("--runs", options->runs, "Number of runs; the fastest counts")
        ->check(whole_number(1, 100000))
        ->capture_default_str();
    command->add_option("MODEL", options->models,
                        "Compiled models (.ovm): compare modelled and measured times of their FCs");
    command->add_flag("--json", options->json, "Print JSON");
    auto* cpu = command->add_flag(
        "--cpu", options->cpu,
        "Measure what operators of the CPU and conversions of layouts take, and write that for "
        "overtake compile --cpu-costs");
    auto* partition = command->add_flag(
        "--partition", options->partition,
        "Learn what pieces of layers take, and write that for overtake compile --costs; MODEL is "
        "then an ONNX file whose layers are measured, too");
    cpu->excludes(partition);
    for (const char* name : {"MODEL", "--name"})
        cpu->excludes(command->get_option(name));
    command->add_option("--pieces", options->pieces, "With --partition: pieces to measure")
        ->check(whole_number(100, 1000000))
        ->needs(partition)
        ->capture_default_str();
    command
        ->add_option("--of-profile", options->of_profile,
                     "With --partition: learn the cycle model of this profile instead of measuring")
        ->needs(partition);
    command
        ->add_flag("--no-trees", options->no_trees,
                   "With --partition: formulas alone, which needs no libxgboost")
        ->needs(partition);
    command->callback([options, &status] { status = run_calibrate(*options); });
}

} // namespace overtake::command
