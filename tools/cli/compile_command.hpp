// SPDX-License-Identifier: MIT
//
// The command compile, and the measurements that it can make.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <CLI/CLI.hpp>

#include "compiler/cores/balance.hpp"

namespace overtake::command {

/// The measurement for --balance measured.
struct ShareMeasurement {
    std::function<compiler::SharePriceMaker()> make; ///< empty: there is no such option
    std::shared_ptr<const std::size_t> pieces;       ///< how many pieces were measured
};

/// Adds the command compile, with --balance measured if `measurement` has it.
void add_compile_with(CLI::App& app, int& status, const ShareMeasurement& measurement);

} // namespace overtake::command
