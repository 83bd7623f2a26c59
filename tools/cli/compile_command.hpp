// SPDX-License-Identifier: MIT
//
// The command compile, and what it can measure.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <CLI/CLI.hpp>

#include "compiler/cores/balance.hpp"

namespace overtake::command {

/// For --balance measured.
struct ShareMeasurement {
    std::function<compiler::SharePriceMaker()> make; ///< none: there is no such option
    std::shared_ptr<const std::size_t> pieces;       ///< how many were measured
};

/// add_compile() with that option.
void add_compile_with(CLI::App& app, int& status, const ShareMeasurement& measurement);

} // namespace overtake::command
