// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include "compiler/inputs/images.hpp"

namespace overtake::command {

/// Adds --mean and --scale: how the pixels of pictures are normalised.
void add_normalisation(CLI::App& command, compiler::Normalisation& normalisation);

} // namespace overtake::command
