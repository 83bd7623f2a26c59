// SPDX-License-Identifier: MIT
//
// overtake demo: the five set-ups, predicted by the simulator and, if that is linked, measured on a
// device (demo_measuring.cpp).
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "demo_command.hpp"
#include "demo_page.hpp"
#include "demo_table.hpp"
#include "huge_pages.hpp"
#include "json_text.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "units.hpp"

namespace overtake::command {
namespace {

namespace fs = std::filesystem;

struct DemoOptions {
    DemoSetup setup;
    bool predict = false;
    bool probe = false;
    bool json = false;
};

void predict(DemoResults& results, bool in_words) {
    results.large_cost_ns = demo::predicted_cost_ns(results.setup.networks.large);
    results.rows = predict_rows(results.setup);
    if (!in_words)
        return;
    print_introduction(results.setup, results.large_cost_ns);
    print_predicted_head();
    for (const RowResult& result : results.rows)
        print_predicted(result.row, result.predicted.figures, alone_p99_ns(results));
}

void write_results(const DemoResults& results, const nlohmann::ordered_json& json) {
    const fs::path directory = results.setup.output_dir;
    OutputFiles files;
    files.make_directory(directory);
    const auto write = [&](const std::string& name, const std::string& contents) {
        files.add(directory / name, [&](std::ostream& out) { out << contents; });
    };
    for (const RowResult& result : results.rows) {
        write(predicted_picture_name(result.row), result.predicted.picture);
        if (result.measured)
            write(measured_picture_name(result.row), result.measured->picture);
    }
    write("results.json", text_of(json) + "\n");
    write("index.html", demo_page(results));
    files.commit();
}

int run_demo(const DemoOptions& options, const DemoMeasurement& measurement) {
    check_output_directory("--output-dir", options.setup.output_dir);
    if (options.probe)
        return measurement.probe(options.setup);
    DemoResults results;
    results.setup = options.setup;
    if (options.predict)
        predict(results, !options.json);
    else
        measurement.measure(results, !options.json);
    const auto json = to_json(results);
    write_results(results, json);
    if (options.json)
        fmt::print("{}\n", text_of(json));
    else
        fmt::print("\nThe page with tables and pictures: {0}/index.html. "
                   "Numbers: {0}/results.json\n",
                   options.setup.output_dir);
    return 0;
}

void add_prediction_options(CLI::App& command, DemoOptions& options) {
    DemoSetup& setup = options.setup;
    command.add_option("--detector", setup.networks.detector, "Model of the detector")->required();
    command.add_option("--large", setup.networks.large, "Model of the large network")->required();
    command
        .add_option("--large-split", setup.networks.large_split,
                    "The same, compiled with --max-time-per-fc 1000")
        ->required();
    command.add_flag("--predict", options.predict,
                     "Only print the simulator's prediction; needs no device");
    command
        .add_option("--output-dir", setup.output_dir,
                    "Directory for the page (index.html), results and pictures")
        ->capture_default_str();
    command.add_option("--requests", setup.load.requests, "Detector requests in each row")
        ->check(whole_number(1, 1'000'000))
        ->capture_default_str();
    command.add_option("--period-us", setup.load.period_us, "Time between detector requests")
        ->transform(whole_duration(TimeUnit::microsecond, 100, 10'000'000))
        ->capture_default_str();
    command.add_flag("--json", options.json, "Print the results as JSON instead of tables");
}

void add_measurement_options(CLI::App& command, DemoOptions& options) {
    DemoSetup& setup = options.setup;
    CLI::Option* predict = command.get_option("--predict");
    command.add_option("--device", setup.device, "Device in mode timed, used by no other process")
        ->capture_default_str();
    command
        .add_option("--repeat", setup.repeat,
                    "Measure each row this many times; show medians and ranges")
        ->check(whole_number(1, 1000))
        ->capture_default_str()
        ->excludes(predict);
    command
        .add_option("--time-scale", setup.time_scale,
                    "The device's clock is 1/N of its profile's, for a late host: periods are N "
                    "times as long, times are printed divided by N")
        ->check(whole_number(1, 64))
        ->capture_default_str()
        ->excludes(predict);
    command
        .add_flag("--probe", options.probe,
                  "Only try whether this host is punctual enough; exit status 1 if it is not")
        ->excludes(predict);
}

} // namespace

std::vector<RowResult> predict_rows(const DemoSetup& setup) {
    std::vector<RowResult> results;
    for (const demo::Row& row : demo::rows())
        results.push_back({row, demo::predict(row, setup.networks, setup.load), {}});
    return results;
}

void add_demo_with(CLI::App& app, int& status, const DemoMeasurement& measurement) {
    auto options = std::make_shared<DemoOptions>();
    auto* command = app.add_subcommand(
        "demo", "Run a detector beside a large network, with and without preemption");
    add_prediction_options(*command, *options);
    if (measurement.measure)
        add_measurement_options(*command, *options);
    else
        command->get_option("--predict")->required();
    command->callback([options, measurement, &status] {
        use_huge_pages();
        if (!options->predict)
            measurement.check_device(options->setup);
        status = run_demo(*options, measurement);
    });
}

void add_demo(CLI::App& app, int& status) {
    add_demo_with(app, status, {});
}

} // namespace overtake::command
