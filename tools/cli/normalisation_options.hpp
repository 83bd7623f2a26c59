// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include "compiler/inputs/images.hpp"

namespace overtake::command {

/// --mean and --scale: what becomes of the pixels of pictures.
void add_normalisation(CLI::App& command, compiler::Normalisation& normalisation);

} // namespace overtake::command
