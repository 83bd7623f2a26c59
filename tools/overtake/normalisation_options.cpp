// SPDX-License-Identifier: MIT
#include "normalisation_options.hpp"

#include "option_checks.hpp"

namespace overtake::command {

void add_normalisation(CLI::App& command, compiler::Normalisation& normalisation) {
    command
        .add_option("--mean", normalisation.mean,
                    "Taken off the pixels (0..255) of pictures: a number, or one a channel")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_option("--scale", normalisation.scale, "What they are multiplied by then")
        ->delimiter(',')
        ->check(positive_number())
        ->allow_extra_args(false);
}

} // namespace overtake::command
