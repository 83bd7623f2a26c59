// SPDX-License-Identifier: MIT
//
// overtake compile: an ONNX network becomes a model file.
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "compile.hpp"
#include "configuration.hpp"
#include "output_file.hpp"
#include "overtake/device.hpp"
#include "progress.hpp"
#include "report_files.hpp"
#include "summary.hpp"

namespace overtake::command {
namespace {

struct CompileCommandOptions {
    compiler::CompileOptions compile;
    std::string configuration;
    std::string output;
    std::string report;
    std::vector<std::string> input_shapes;
    bool lists_operators = false;
    bool quiet = false;
    bool json = false;
};

// What the file says, but for what is on the command line as well.
void apply_configuration(const CLI::App& command, CompileCommandOptions& options) {
    if (options.configuration.empty()) {
        if (options.compile.model.empty())
            throw CLI::RequiredError("MODEL or --config");
        return;
    }
    compiler::Configuration file = compiler::read_configuration(options.configuration);
    if (command.count("--max-time-per-fc") > 0)
        file.compile.max_time_per_fc_us = options.compile.max_time_per_fc_us;
    if (command.count("--profile") > 0)
        file.compile.profile = options.compile.profile;
    options.compile = std::move(file.compile);
    if (options.output.empty()) {
        options.output = file.output;
        const auto directory = std::filesystem::path(file.output).parent_path();
        std::error_code error;
        std::filesystem::create_directories(directory, error);
        if (error)
            throw Error(error.value(), directory.string() + ": the directory cannot be made: " +
                                           error.message() + "; name another as working_dir");
    }
    if (options.report.empty())
        options.report = file.report;
}

void print_json(const std::string& output, const std::vector<std::string>& warnings,
                const nlohmann::ordered_json& summary) {
    nlohmann::ordered_json json = {{"output", output}, {"warnings", warnings}};
    json.update(summary);
    fmt::print("{}\n", json.dump(2));
}

int run_compile(const CompileCommandOptions& options) {
    const std::string output =
        options.output.empty()
            ? std::filesystem::path(options.compile.model).replace_extension(".ovm").string()
            : options.output;
    std::error_code error;
    if (std::filesystem::equivalent(output, options.compile.model, error))
        throw Error(EINVAL, output + ": is the ONNX file itself; name another with -o");
    std::vector<std::string> warnings;
    std::vector<std::uint8_t> bytes;
    {
        compiler::CompileOptions asked = options.compile;
        asked.warn = [&](const std::string& warning) { warnings.push_back(warning); };
        ProgressBar bar;
        bytes = compiler::compile(
            asked, [&](const std::string& what, double done) { bar.show(what, done); });
    }
    // What cannot be loaded is not written.
    const auto model = Model::from_bytes(std::as_bytes(std::span(bytes)), output);
    write_file(output, [&](std::ostream& file) {
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    });
    for (const std::string& warning : warnings)
        fmt::print(stderr, "overtake: {}\n", warning);
    if (options.quiet && options.report.empty() && !options.json)
        return 0;
    const nlohmann::ordered_json summary = summarise(*model);
    if (!options.report.empty())
        write_report(options.report, std::filesystem::path(output).stem(), summary);
    if (options.json)
        print_json(output, warnings, summary);
    else if (!options.quiet)
        fmt::print("{}: {}\n", output, one_line_summary(summary));
    return 0;
}

// NAME=1x3x224x224
void read_input_shapes(const std::vector<std::string>& arguments, compiler::ImportOptions& import) {
    for (const std::string& argument : arguments) {
        const std::size_t equals = argument.rfind('=');
        std::vector<std::int64_t> shape;
        bool is_sound = equals != std::string::npos && equals > 0;
        for (std::size_t at = equals + 1; is_sound && at <= argument.size();) {
            const std::size_t end = std::min(argument.find('x', at), argument.size());
            const std::string size = argument.substr(at, end - at);
            is_sound = !size.empty() && size.size() < 10 &&
                       size.find_first_not_of("0123456789") == std::string::npos;
            shape.push_back(is_sound ? std::stoll(size) : 0);
            is_sound = is_sound && shape.back() > 0;
            at = end + 1;
        }
        if (!is_sound)
            throw Error(EINVAL, "--input-shape " + argument + ": is not NAME=1x3x224x224");
        import.input_shapes[argument.substr(0, equals)] = shape;
    }
}

int print_supported_operators() {
    fmt::print("{:<24} {:<62} {}\n", "operator", "on the BPU", "on the CPU");
    for (const auto& entry : compiler::supported_operators())
        fmt::print("{:<24} {:<62} {}\n", entry.type, entry.on_bpu.empty() ? "-" : entry.on_bpu,
                   entry.on_cpu.empty() ? "-" : entry.on_cpu);
    return 0;
}

} // namespace

void add_compile(CLI::App& app, int& status) {
    auto options = std::make_shared<CompileCommandOptions>();
    auto* command = app.add_subcommand("compile", "Compile an ONNX network to a model file (.ovm)");
    command->add_option("MODEL", options->compile.model,
                        "ONNX file, opset 6 to 17: float32, QDQ or QOperator");
    auto* file = command->add_option(
        "-c,--config", options->configuration,
        "YAML file with hb_mapper's keys instead of MODEL; -o, --report, --max-time-per-fc and "
        "--profile go before what it says");
    command->add_option("-o,--output", options->output,
                        "Model file to write; default: MODEL with the suffix .ovm");
    command
        ->add_option("--max-time-per-fc", options->compile.max_time_per_fc_us,
                     "Longest time of a function call, microseconds; 0 = one FC per BPU segment")
        ->check(CLI::Range(0u, 4294967295u))
        ->capture_default_str();
    command
        ->add_option(
            "--calibration", options->compile.calibration,
            "[INPUT=]FILE (.npy, .png, .jpg) or directory of such, with samples; once per input")
        ->allow_extra_args(false);
    const std::map<std::string, compiler::CalibrationMethod> methods = {
        {"min-max", compiler::CalibrationMethod::min_max},
        {"percentile", compiler::CalibrationMethod::percentile},
        {"kl", compiler::CalibrationMethod::kl},
        {"mse", compiler::CalibrationMethod::mse},
        {"best", compiler::CalibrationMethod::best}};
    auto* method =
        command
            ->add_option("--calibration-method", options->compile.method,
                         "How ranges follow from the samples: min-max (default), "
                         "percentile, kl, mse, or best: what leaves outputs nearest to float")
            ->transform(CLI::CheckedTransformer(methods).description(""));
    command
        ->add_option("--percentile", options->compile.percentile,
                     "Part of each tensor's calibration values that its range covers; chooses the "
                     "method percentile")
        ->check(CLI::Range(90.0, 100.0))
        ->capture_default_str()
        ->each([options, method](const std::string&) {
            if (method->count() == 0)
                options->compile.method = compiler::CalibrationMethod::percentile;
        });
    command->add_flag("!--no-bias-correction", options->compile.corrects_bias,
                      "Leave biases as they are rather than make up for rounded weights");
    command->add_flag("!--no-equalisation", options->compile.equalises_channels,
                      "Leave channels as they are rather than have small ones use more of 8 bits");
    command
        ->add_option("--profile", options->compile.profile,
                     "Device the FC times are for: a built-in profile or a file")
        ->capture_default_str();
    command->add_option("--seed", options->compile.seed, "Of the noise used without --calibration")
        ->capture_default_str();
    command->add_option("--report", options->report,
                        "FILE.html, FILE.json, FILE.txt, or a directory for all three");
    command
        ->add_option("--input-shape", options->input_shapes,
                     "NAME=1x3x224x224: shape of an input whose own has symbols; once per input")
        ->allow_extra_args(false);
    command
        ->add_option("--run-on-cpu", options->compile.import.run_on_cpu,
                     "Node that the CPU shall run; may be given several times")
        ->allow_extra_args(false);
    command
        ->add_option("--run-on-bpu", options->compile.import.run_on_bpu,
                     "Node that is refused if the device cannot run it; may be given several times")
        ->allow_extra_args(false);
    command->add_flag("--supported-ops", options->lists_operators,
                      "Print which operators of ONNX run where, and nothing else");
    command->add_flag("-q,--quiet", options->quiet, "Print nothing on success");
    command->add_flag("--json", options->json, "Print what was made as JSON");
    for (const char* name :
         {"MODEL", "--calibration", "--calibration-method", "--percentile", "--no-bias-correction",
          "--no-equalisation", "--seed", "--input-shape", "--run-on-cpu", "--run-on-bpu"})
        file->excludes(command->get_option(name));
    command->callback([options, command, &status] {
        if (options->lists_operators) {
            status = print_supported_operators();
            return;
        }
        apply_configuration(*command, *options);
        read_input_shapes(options->input_shapes, options->compile.import);
        status = run_compile(*options);
    });
}

} // namespace overtake::command
