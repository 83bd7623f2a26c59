// SPDX-License-Identifier: MIT
//
// Durations and sizes on the command line: a number in the option's own unit, or with a unit.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace overtake::command {

/// The unit of a number without one; its nanoseconds.
enum class TimeUnit : std::uint64_t {
    microsecond = 1'000,
    millisecond = 1'000'000,
    second = 1'000'000'000
};

/// For CLI::Option::transform(): 30s, 1.5ms or 5min becomes a number of `unit`.  What is not in
/// [least, most] is refused, as is a part of a unit.
CLI::Validator whole_duration(TimeUnit unit, std::uint64_t least, std::uint64_t most);

/// The same, with parts.
CLI::Validator duration(TimeUnit unit, double least, double most);

/// For CLI::Option::transform(): 64M or 2GiB becomes a number of MiB; K, M, G and T are powers of
/// 1024.
CLI::Validator whole_mebibytes(std::uint64_t least, std::uint64_t most);

} // namespace overtake::command
