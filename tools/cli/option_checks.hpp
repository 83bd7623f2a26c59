// SPDX-License-Identifier: MIT
//
// Checks of the values of options, for CLI::Option::check(). They refuse a value in one line that
// names the possible values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace overtake::command {

/// Returns "a, b or c".
std::string listed(const std::vector<std::string>& choices);

/// Accepts one of these words.
CLI::Validator one_of(std::vector<std::string> choices);

/// Accepts a whole number without a sign; CLI11 would accept a sign and wrap the number.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

/// Accepts a number, not NaN.
CLI::Validator number(double least, double most);

/// Accepts a finite number above 0.
CLI::Validator positive_number();

/// Accepts a number above 0 and at most 1.
CLI::Validator share();

/// Accepts a finite number of at least 0.
CLI::Validator non_negative_number();

/// Accepts a text of at least one character.
CLI::Validator not_empty();

/// Gives each option of the command that takes a number a check that its value is one.
void check_numbers(CLI::App& command);

/// Throws CLI::ValidationError for --mode or --cores with a kernel device; `node` is empty for
/// every other device.
void check_embedded_options(const CLI::App& command, const std::string& node);

} // namespace overtake::command
