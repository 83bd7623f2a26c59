// SPDX-License-Identifier: MIT
//
// Checks of the values of options, for CLI::Option::check().  They refuse a value in one line that
// names what is possible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace overtake::command {

/// "a, b or c".
std::string listed(const std::vector<std::string>& choices);

/// One of these words.
CLI::Validator one_of(std::vector<std::string> choices);

/// A whole number without a sign, which CLI11 would take and wrap.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

/// A number, not NaN.
CLI::Validator number(double least, double most);

/// A finite number above 0.
CLI::Validator positive_number();

/// Above 0, and 1 at most.
CLI::Validator share();

/// A finite number of at least 0.
CLI::Validator non_negative_number();

/// A text of at least a character.
CLI::Validator not_empty();

/// Gives each option of the command that takes a number a check that it is one, beside its own.
void check_numbers(CLI::App& command);

/// Throws CLI::ValidationError for --mode or --cores beside a kernel device; `node` is empty for
/// every other device.
void check_embedded_options(const CLI::App& command, const std::string& node);

} // namespace overtake::command
