// SPDX-License-Identifier: MIT
//
// Parses durations and sizes on the command line: a number in the option's own unit, or with a
// unit.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace overtake::command {

/// The unit of a number without a unit; the value is its nanoseconds.
enum class TimeUnit : std::uint64_t {
    microsecond = 1'000,
    millisecond = 1'000'000,
    second = 1'000'000'000
};

/// For CLI::Option::transform(): converts 30s, 1.5ms or 5min to a number of `unit`. Refuses a value
/// that is not in [least, most], or is not a whole number of `unit`.
CLI::Validator whole_duration(TimeUnit unit, std::uint64_t least, std::uint64_t most);

/// Does the same, but a fraction is allowed.
CLI::Validator duration(TimeUnit unit, double least, double most);

/// For CLI::Option::transform(): converts 64M or 2GiB to a number of MiB; K, M, G and T are powers
/// of 1024.
CLI::Validator whole_mebibytes(std::uint64_t least, std::uint64_t most);

} // namespace overtake::command
