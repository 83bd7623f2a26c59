// SPDX-License-Identifier: MIT
#include "normalisation_options.hpp"

#include "option_checks.hpp"

namespace overtake::command {

void add_normalisation(CLI::App& command, compiler::Normalisation& normalisation) {
    command
        .add_option("--mean", normalisation.mean,
                    "Subtracted from the pixels (0..255) of images: a number, or one per channel")
        ->delimiter(',')
        ->allow_extra_args(false);
    command
        .add_option("--scale", normalisation.scale,
                    "Factor for the pixels after that: a number, or one per channel")
        ->delimiter(',')
        ->check(positive_number())
        ->allow_extra_args(false);
}

} // namespace overtake::command
