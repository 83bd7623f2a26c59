// SPDX-License-Identifier: MIT
#include "calibration_options.hpp"

#include <map>
#include <string>

#include "normalisation_options.hpp"
#include "option_checks.hpp"

namespace overtake::command {

void add_calibration(CLI::App& command, const std::shared_ptr<compiler::CompileOptions>& options) {
    command
        .add_option(
            "--calibration", options->calibration,
            "[INPUT=]PATH of samples: a .npy, .png or .jpg file, or a directory; once per input")
        ->allow_extra_args(false);
    command
        .add_option("--state", options->states,
                    "OUTPUT=INPUT, once per state: samples are steps of a sequence, and the output "
                    "is that input of the next one")
        ->allow_extra_args(false);
    add_normalisation(command, options->normalisation);
    const std::map<std::string, compiler::CalibrationMethod> methods = {
        {"min-max", compiler::CalibrationMethod::min_max},
        {"percentile", compiler::CalibrationMethod::percentile},
        {"kl", compiler::CalibrationMethod::kl},
        {"mse", compiler::CalibrationMethod::mse},
        {"best", compiler::CalibrationMethod::best}};
    auto* method =
        command
            .add_option_function<std::string>(
                "--calibration-method",
                [options, methods](const std::string& name) { options->method = methods.at(name); },
                "How to choose ranges from the samples: min-max (default), "
                "percentile, kl, mse, or best: whichever is nearest to float")
            ->check(one_of({"min-max", "percentile", "kl", "mse", "best"}));
    command
        .add_option("--percentile", options->percentile,
                    "Share of each tensor's calibration values that its range covers; implies "
                    "--calibration-method percentile")
        ->check(number(90, 100))
        ->capture_default_str()
        ->each([options, method](const std::string&) {
            if (method->count() == 0)
                options->method = compiler::CalibrationMethod::percentile;
        });
    auto* accuracy =
        command
            .add_option(
                "--accuracy", options->accuracy,
                "Cosine with float that each output must have over all samples, such as 0.99: "
                "searches the ranges, then the fewest nodes on the CPU in float, that reach it")
            ->check(share())
            ->needs("--calibration")
            ->excludes(method);
    command
        .add_option("--decisions", options->decisions,
                    "OUTPUT[=AXIS] of which a program takes the place of the greatest number: "
                    "--accuracy also asks that share of these places to be those of float; "
                    "may be given several times")
        ->needs(accuracy)
        ->allow_extra_args(false);
    command.add_flag("!--no-bias-correction", options->corrects_bias,
                     "Do not let biases compensate for rounded weights");
    command.add_flag("!--no-equalisation", options->equalises_channels,
                     "Do not scale up channels with small values to use more of the 8 bits");
}

} // namespace overtake::command
