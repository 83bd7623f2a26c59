// SPDX-License-Identifier: MIT
//
// overtake compile: compiles an ONNX network to a model file.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "accuracy_table.hpp"
#include "calibration_options.hpp"
#include "check_network.hpp"
#include "commands.hpp"
#include "compile_command.hpp"
#include "compiler/compile.hpp"
#include "compiler/configuration/configuration.hpp"
#include "compiler/file/cpu_plan.hpp"
#include "compiler/layout_costs_file.hpp"
#include "cpu_layout_option.hpp"
#include "huge_pages.hpp"
#include "json_text.hpp"
#include "network_options.hpp"
#include "option_checks.hpp"
#include "output_file.hpp"
#include "overtake/device.hpp"
#include "overtake/model_contents.hpp"
#include "printable.hpp"
#include "progress.hpp"
#include "report_files.hpp"
#include "summary.hpp"
#include "units.hpp"

namespace overtake::command {
namespace {

struct CompileCommandOptions {
    compiler::CompileOptions compile;
    std::string configuration;
    std::string output;
    std::string directory; ///< directory of the output, to be made; empty: it exists
    std::string report;
    std::string board; ///< named by the configuration file, without a profile that has its figures
    NetworkOptions network;
    std::optional<CpuLayout> cpu_layout; ///< chosen now and stored
    std::string cpu_costs;               ///< file of overtake calibrate --cpu; empty: use the rule
    bool lists_operators = false;
    bool only_checks = false;
    bool is_strict = false;            ///< warnings are errors
    std::vector<std::string> warnings; ///< warnings of the configuration file
    ShareMeasurement measurement;      ///< the measurement of --balance measured
    bool quiet = false;
    bool json = false;
};

void print_warnings(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings)
        fmt::print(stderr, "overtake: {}\n", printable(warning));
}

// Returns whether warnings end the compilation, and prints that they do.
bool ends_by_warnings(const CompileCommandOptions& options, std::size_t count) {
    if (!options.is_strict || count == 0)
        return false;
    fmt::print(stderr, "overtake: --strict: {} warning{} an error, so nothing is written\n", count,
               count == 1 ? " is" : "s are each");
    return true;
}

// Returns whether the file can be used; otherwise, it prints the file's problems.
bool take_problems(const compiler::Configuration& file, CompileCommandOptions& options) {
    bool has_errors = false;
    std::vector<std::string> all;
    for (const compiler::ConfigurationProblem& problem : file.problems) {
        has_errors |= problem.is_error;
        all.push_back(problem.text);
    }
    if (has_errors || (options.is_strict && !all.empty()))
        print_warnings(all);
    options.warnings = all;
    return !has_errors && !ends_by_warnings(options, all.size());
}

// Applies the settings of the file, except those that the command line has as well. Returns false
// if the file is refused.
bool apply_configuration(const CLI::App& command, CompileCommandOptions& options) {
    if (options.configuration.empty()) {
        if (options.compile.model.empty())
            throw CLI::RequiredError("MODEL or --config");
        return true;
    }
    compiler::Configuration file = compiler::read_configuration(options.configuration);
    if (!take_problems(file, options))
        return false;
    if (command.count("--max-time-per-fc") > 0)
        file.compile.max_time_per_fc_us = options.compile.max_time_per_fc_us;
    if (command.count("--profile") > 0)
        file.compile.profile = options.compile.profile;
    else
        options.board = file.board;
    if (command.count("--cores") > 0)
        file.compile.cores = options.compile.cores;
    file.compile.core_profiles = options.compile.core_profiles;
    file.compile.schemes = options.compile.schemes;
    file.compile.overlaps = options.compile.overlaps;
    file.compile.costs = options.compile.costs;
    file.compile.balance = options.compile.balance;
    file.compile.share_prices = options.compile.share_prices;
    file.compile.classes = options.compile.classes;
    file.compile.min_unit = options.compile.min_unit;
    file.compile.unrolled_steps = options.compile.unrolled_steps;
    options.compile = std::move(file.compile);
    if (options.output.empty()) {
        options.output = file.output;
        options.directory = std::filesystem::path(file.output).parent_path();
    }
    if (options.report.empty())
        options.report = file.report;
    return true;
}

// Returns how many pieces of layers --balance measured has run; nothing without that option.
std::optional<std::size_t> pieces_measured(const CompileCommandOptions& options) {
    if (!options.compile.share_prices || !options.measurement.pieces)
        return std::nullopt;
    return *options.measurement.pieces;
}

void print_json(const CompileCommandOptions& options, const std::string& output,
                const std::vector<std::string>& warnings, const nlohmann::ordered_json& summary,
                const std::optional<compiler::AccuracyReport>& accuracy) {
    nlohmann::ordered_json json = {{"output", output}, {"warnings", warnings}};
    if (accuracy)
        json["accuracy"] = accuracy_json(*accuracy);
    if (const auto pieces = pieces_measured(options))
        json["pieces_measured"] = *pieces;
    json.update(summary);
    fmt::print("{}\n", text_of(json));
}

std::string output_of(const CompileCommandOptions& options) {
    std::string output =
        options.output.empty()
            ? std::filesystem::path(options.compile.model).replace_extension(".ovm").string()
            : options.output;
    // A compiled model given as MODEL is refused.
    std::error_code error;
    if (!options.output.empty() &&
        std::filesystem::equivalent(output, options.compile.model, error))
        throw Error(EINVAL, output + ": is the ONNX file itself; name another with -o");
    return output;
}

std::vector<std::string> files_read(const CompileCommandOptions& options) {
    std::vector<std::string> files = {options.configuration, options.compile.profile,
                                      options.compile.costs, options.cpu_costs};
    for (const compiler::ClassOption& of : options.compile.classes)
        files.push_back(of.profile);
    std::ranges::copy(options.compile.core_profiles, std::back_inserter(files));
    for (const std::string& specification : options.compile.calibration) {
        files.push_back(specification);
        // Names and files may have '=', too.
        for (std::size_t at = specification.find('='); at != std::string::npos;
             at = specification.find('=', at + 1))
            files.push_back(specification.substr(at + 1));
    }
    return files;
}

// Checks that the results can be written, before minutes of compiling.
void check_places(const CompileCommandOptions& options, const std::string& output) {
    if (!options.report.empty())
        check_report(options.report, std::filesystem::path(output).stem());
    if (!options.directory.empty())
        check_output_directory("working_dir", options.directory);
    if (options.directory.empty() || std::filesystem::is_directory(options.directory))
        check_output_file(output, files_read(options));
}

// Compiles the network. `notes` are the warnings about the computation, which the report has, too.
// `calibration` is the time in which the samples ran in float.
std::vector<std::uint8_t> compile_model(const CompileCommandOptions& options,
                                        std::vector<std::string>& warnings,
                                        std::vector<std::string>& notes,
                                        std::chrono::duration<double>& calibration,
                                        std::optional<compiler::AccuracyReport>& accuracy) {
    compiler::CompileOptions asked = options.compile;
    asked.report = [&](const compiler::AccuracyReport& report) { accuracy = report; };
    asked.warn = [&](const std::string& warning) { warnings.push_back(warning); };
    asked.import.warn = [&](const std::string& note) {
        warnings.push_back(note);
        notes.push_back(note);
    };
    ProgressBar bar;
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> begin;
    bool is_calibrated = false;
    return compiler::compile(asked, [&](const std::string& what, double done) {
        bar.show(what, done);
        if (what != "calibrating" || is_calibrated)
            return;
        if (!begin)
            begin = Clock::now();
        calibration = Clock::now() - *begin;
        is_calibrated = done >= 1; // a search for accuracy calibrates again
    });
}

nlohmann::ordered_json with_notes(nlohmann::ordered_json summary,
                                  const std::vector<std::string>& notes) {
    if (!notes.empty())
        summary["notes"] = notes;
    return summary;
}

std::string samples_taken(const CompileCommandOptions& options,
                          const nlohmann::ordered_json& summary,
                          std::chrono::duration<double> calibration) {
    if (options.compile.calibration.empty())
        return "";
    const auto count = summary["calibration"]["samples"].get<std::uint64_t>();
    const std::string samples =
        fmt::format(", calibrated with {} sample{}", count, count == 1 ? "" : "s");
    return calibration.count() < 1 ? samples
                                   : fmt::format("{} in {:.1f} s", samples, calibration.count());
}

void print_line(const CompileCommandOptions& options, const std::string& output,
                const nlohmann::ordered_json& summary, std::chrono::duration<double> calibration) {
    const auto pieces = pieces_measured(options);
    fmt::print("{}: {}{}{}{}\n", output, one_line_summary(summary),
               samples_taken(options, summary, calibration),
               pieces ? fmt::format(", balanced by {} measured pieces", *pieces) : "",
               options.board.empty()
                   ? ""
                   : fmt::format("; times are those of profile default, not of {}", options.board));
}

// Returns nothing unless layouts are to be stored. The costs are read before compiling, which takes
// time.
std::optional<cpu::LayoutCosts> layout_costs(const CompileCommandOptions& options) {
    if (!options.cpu_layout)
        return std::nullopt;
    return options.cpu_costs.empty() ? cpu::LayoutCosts()
                                     : compiler::read_layout_costs(options.cpu_costs);
}

int run_compile(const CompileCommandOptions& options) {
    const std::string output = output_of(options);
    check_places(options, output);
    std::vector<std::string> warnings = options.warnings, notes;
    const std::optional<cpu::LayoutCosts> costs = layout_costs(options);
    std::chrono::duration<double> calibration{};
    std::optional<compiler::AccuracyReport> accuracy;
    std::vector<std::uint8_t> bytes;
    try {
        bytes = compile_model(options, warnings, notes, calibration, accuracy);
    } catch (...) {
        print_warnings(notes); // they may give the reason
        if (accuracy)
            print_accuracy(*accuracy, stderr);
        throw;
    }
    if (options.is_strict)
        print_warnings(warnings);
    if (ends_by_warnings(options, warnings.size()))
        return 1;
    // A model that cannot be loaded is not written.
    auto model = Model::from_bytes(std::as_bytes(std::span(bytes)), output);
    if (costs) {
        bytes =
            compiler::with_cpu_plan(bytes, ModelContents::of(*model), *options.cpu_layout, *costs);
        model = Model::from_bytes(std::as_bytes(std::span(bytes)), output);
    }
    const nlohmann::ordered_json summary = summarise(*model);
    OutputFiles files;
    if (!options.directory.empty())
        files.make_directory(options.directory);
    files.add(output, [&](std::ostream& file) {
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    });
    if (!options.report.empty())
        add_report(files, options.report, std::filesystem::path(output).stem(),
                   with_notes(summary, notes));
    files.commit();
    print_warnings(warnings);
    if (options.json)
        print_json(options, output, warnings, summary, accuracy);
    else if (!options.quiet)
        print_line(options, output, summary, calibration);
    if (accuracy && !options.json && !options.quiet)
        print_accuracy(*accuracy, stdout);
    return 0;
}

int print_supported_operators() {
    fmt::print("{:<24} {:<62} {}\n", "operator", "on the BPU", "on the CPU");
    for (const auto& entry : compiler::supported_operators())
        fmt::print("{:<24} {:<62} {}\n", entry.type, entry.on_bpu.empty() ? "-" : entry.on_bpu,
                   entry.on_cpu.empty() ? "-" : entry.on_cpu);
    return 0;
}

using Options = std::shared_ptr<CompileCommandOptions>;

void add_fc_limit(CLI::App& command, const Options& options) {
    command
        .add_option(
            "--max-time-per-fc", options->compile.max_time_per_fc_us,
            "Longest function call, in microseconds or with a unit (1ms): 0 = one FC per BPU "
            "segment, else 1000 or more")
        ->transform(whole_duration(TimeUnit::microsecond, 0, 4294967295))
        ->check(CLI::Validator(
            [](std::string& text) -> std::string {
                return text == "0" || text.size() > 3
                           ? ""
                           : "'" + text + "' is not 0 (off) or 1000..4294967295 microseconds";
            },
            ""))
        ->capture_default_str();
}

void add_profile_and_seed(CLI::App& command, const Options& options) {
    command
        .add_option("--profile", options->compile.profile,
                    "Device to model times for: a built-in profile or a file")
        ->capture_default_str();
    command
        .add_option("--seed", options->compile.seed, "Seed of the noise used without --calibration")
        ->check(whole_number(0, 4294967295))
        ->capture_default_str();
}

// Parses NAME=PROFILE or NAME; names are those of scenarios and of requests.
compiler::ClassOption class_of(const std::string& text) {
    const std::size_t equals = text.find('=');
    compiler::ClassOption of{text.substr(0, equals), ""};
    const bool is_name = !of.name.empty() && std::ranges::all_of(of.name, [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '_';
    });
    if (!is_name)
        throw CLI::ValidationError("--class", "'" + text +
                                                  "' is neither NAME=PROFILE nor NAME, of letters, "
                                                  "digits, - and _");
    if (equals != std::string::npos) {
        of.profile = text.substr(equals + 1);
        if (of.profile.empty())
            throw CLI::ValidationError("--class", "'" + text + "' names no profile");
    }
    return of;
}

void add_units(CLI::App& command, const Options& options) {
    command
        .add_option_function<std::vector<std::string>>(
            "--class",
            [options](const std::vector<std::string>& texts) {
                constexpr std::size_t most = 64;
                std::vector<compiler::ClassOption>& classes = options->compile.classes;
                for (const std::string& text : texts) {
                    const compiler::ClassOption of = class_of(text);
                    if (std::ranges::find(classes, of.name, &compiler::ClassOption::name) !=
                        classes.end())
                        throw CLI::ValidationError("--class", "'" + of.name + "' is given twice");
                    classes.push_back(of);
                }
                if (classes.size() > most)
                    throw CLI::ValidationError("--class", "at most 64 can be given");
            },
            "NAME=PROFILE of cores, or NAME of CPU workers, for which units are compiled; once for "
            "each class; default: npu, cores of --profile, and cpu")
        ->allow_extra_args(false);
    command
        .add_option("--min-unit", options->compile.min_unit,
                    "Operators that a part of the network needs for an accelerator to take it")
        ->check(whole_number(1, 4294967295))
        ->capture_default_str();
}

void add_cores(CLI::App& command, const Options& options) {
    command
        .add_option("--cores", options->compile.cores,
                    "Plan for one request on so many cores at once, 2 to 64, beside the one for "
                    "one core")
        ->check(whole_number(2, 64).description("2..64"));
    command
        .add_option("--core-profiles", options->compile.core_profiles,
                    "PROFILE,PROFILE,...: the profile of each of --cores, where these are unlike; "
                    "default: --profile")
        ->delimiter(',')
        ->allow_extra_args(false);
    using compiler::Scheme;
    const std::map<std::string, Scheme> schemes = {
        {"single", Scheme::single}, {"row", Scheme::row},         {"column", Scheme::column},
        {"grid", Scheme::grid},     {"channel", Scheme::channel}, {"balanced", Scheme::balanced}};
    command
        .add_option_function<std::vector<std::string>>(
            "--schemes",
            [options, schemes](const std::vector<std::string>& names) {
                std::vector<Scheme>& chosen = options->compile.schemes;
                for (const std::string& name : names) {
                    if (std::ranges::count(chosen, schemes.at(name)) > 0)
                        throw CLI::ValidationError("--schemes", "names " + name + " twice");
                    chosen.push_back(schemes.at(name));
                }
            },
            "By what --cores may share a layer: row, column, grid, channel, balanced or single, "
            "with commas between; default: whichever is the fastest")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(one_of({"row", "column", "grid", "channel", "balanced", "single"}));
    command.add_flag("!--no-overlap", options->compile.overlaps,
                     "Let --cores meet behind each layer, rather than compute the border of their "
                     "shares twice");
    command
        .add_option("--costs", options->compile.costs,
                    "File of overtake calibrate --partition: plan --cores by what was measured, "
                    "rather than by --profile")
        ->check(not_empty());
}

// Adds the options of the scheme `balanced`.
void add_balance(CLI::App& command, const Options& options) {
    command
        .add_option("--balance-step", options->compile.balance.step,
                    "Scheme balanced: pixels that move at once from the core that takes longest "
                    "to the one that is done first; default: a 32nd of a layer's")
        ->check(whole_number(1, 4294967295));
    command
        .add_option_function<double>(
            "--balance-threshold",
            [options](double percent) { options->compile.balance.threshold = percent / 100; },
            "Scheme balanced: how many percent of the time of the core that takes longest another "
            "one may be done before it; default: 2")
        ->check(number(0, 100));
    if (!options->measurement.make)
        return;
    command
        .add_option_function<std::string>(
            "--balance",
            [options](const std::string& by) {
                if (by == "measured")
                    options->compile.share_prices = options->measurement.make();
            },
            "Scheme balanced: by which times, those that are planned by (model, the default) or "
            "what pieces of the layers take on this host in functional mode (measured)")
        ->check(one_of({"model", "measured"}));
}

void add_cpu_layout(CLI::App& command, const Options& options) {
    auto* layout = add_cpu_layout_option(
        command, [options](CpuLayout chosen) { options->cpu_layout = chosen; },
        "Choose now how values between operators of the CPU lie in memory, and store it with the "
        "weights as this CPU reads them: auto, planes or blocked; default: chosen at load");
    command
        .add_option("--cpu-costs", options->cpu_costs,
                    "File of overtake calibrate --cpu to choose by; default: a rule")
        ->needs(layout)
        ->check(not_empty());
}

// Adds the options for single inputs and nodes.
void add_exceptions(CLI::App& command, const Options& options) {
    add_network_options(command, options->network);
    auto* all_on_cpu =
        command.add_flag("--cpu", options->compile.import.all_on_cpu,
                         "Run all nodes on the CPU, in float: to compare with, or to fall back on");
    for (const char* name :
         {"--calibration", "--calibration-method", "--percentile", "--accuracy", "--decisions",
          "--mean", "--scale", "--max-time-per-fc", "--cores", "--class", "--config"})
        all_on_cpu->excludes(command.get_option(name));
    command
        .add_option("--run-on-cpu", options->compile.import.run_on_cpu,
                    "Run this node on the CPU; may be given several times")
        ->allow_extra_args(false);
    command
        .add_option(
            "--run-on-bpu", options->compile.import.run_on_bpu,
            "Refuse the model if the device cannot run this node; may be given several times")
        ->excludes(all_on_cpu)
        ->allow_extra_args(false);
    command
        .add_option("--int16", options->compile.import.int16,
                    "Give 16 bits to what this node reads and writes on the device, or \"all\" "
                    "nodes; may be given several times")
        ->excludes(all_on_cpu)
        ->allow_extra_args(false);
    command
        .add_option("--unroll", options->compile.unrolled_steps,
                    "Steps up to which the device computes an RNN, GRU or LSTM, one after the "
                    "other, where that takes less time than on the CPU; 0: none; default: 16")
        ->excludes(all_on_cpu)
        ->check(whole_number(0, 1024));
    command
        .add_option("--custom-op-domain", options->compile.import.custom_domains,
                    "Leave the operators of this ONNX domain to the program that runs the model; "
                    "may be given several times")
        ->allow_extra_args(false);
    command.add_flag("--int8-outputs", options->compile.int8_outputs,
                     "Outputs as the device has them, int8 with a scale, instead of float32");
    command.add_option("--custom-op-library", options->compile.custom_op_library,
                       "Shared object that registers these operators, to compute the network in "
                       "float");
}

} // namespace

void add_compile(CLI::App& app, int& status) {
    add_compile_with(app, status, {});
}

void add_compile_with(CLI::App& app, int& status, const ShareMeasurement& measurement) {
    auto options = std::make_shared<CompileCommandOptions>();
    options->measurement = measurement;
    auto* command = app.add_subcommand("compile", "Compile an ONNX network to a model file (.ovm)");
    command->add_option("MODEL", options->compile.model,
                        "ONNX file, opset 6 to 23: float32, QDQ or QOperator");
    auto* file = command->add_option(
        "-c,--config", options->configuration,
        "YAML file with hb_mapper's keys, instead of MODEL; -o, --report, --max-time-per-fc, "
        "--cores and --profile override it");
    auto* output = command->add_option("-o,--output", options->output,
                                       "Model file to write; default: MODEL with the suffix .ovm");
    add_fc_limit(*command, options);
    add_calibration(*command, {options, &options->compile});
    add_profile_and_seed(*command, options);
    add_units(*command, options);
    add_cores(*command, options);
    add_balance(*command, options);
    auto* report = command->add_option(
        "--report", options->report,
        "Write a report to FILE.html, FILE.json or FILE.txt, or all three to a directory");
    add_exceptions(*command, options);
    add_cpu_layout(*command, options);
    auto* check =
        command->add_flag("--check", options->only_checks,
                          "Print per operator how many nodes run where and which are refused, and "
                          "compile nothing; exit status 1 if any is");
    command->add_flag("--supported-ops", options->lists_operators,
                      "Print which ONNX operators run where, and do nothing else");
    command->add_flag("--strict", options->is_strict, "Refuse what is otherwise warned about");
    auto* quiet = command->add_flag("-q,--quiet", options->quiet, "Print nothing on success");
    // --check writes nothing, and its purpose is to print.
    check->excludes(output)->excludes(report)->excludes(quiet);
    command->add_flag("--json", options->json, "Print the result as JSON");
    for (const char* name :
         {"MODEL", "--calibration", "--mean", "--scale", "--calibration-method", "--percentile",
          "--accuracy", "--decisions", "--no-bias-correction", "--no-equalisation", "--seed",
          "--input-shape", "--set-input", "--run-on-cpu", "--run-on-bpu", "--int16",
          "--int8-outputs", "--custom-op-domain", "--custom-op-library"})
        file->excludes(command->get_option(name));
    command->callback([options, command, &status] {
        use_huge_pages();
        if (options->lists_operators) {
            status = print_supported_operators();
            return;
        }
        if (!apply_configuration(*command, *options)) {
            status = 1;
            return;
        }
        read_network_options(options->network, options->compile.import);
        if (!options->only_checks) {
            status = run_compile(*options);
            return;
        }
        print_warnings(options->warnings);
        status = check_network(options->compile, options->json);
    });
}

} // namespace overtake::command
