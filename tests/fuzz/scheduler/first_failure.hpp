// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace overtake::fuzz {

struct FirstFailure {
    std::uint64_t index;
    std::string what;
};

/// Attempts cases, counted from 0, on several threads. Every case before the first one that fails
/// is attempted, so that the first failure does not depend on the threads. `attempt` returns the
/// failure, if any; an exception of it ends the attempts and is thrown again. threads 0: one for
/// each CPU.
std::optional<FirstFailure>
first_failure(std::uint64_t cases, unsigned threads, const std::function<void(double)>& progress,
              const std::function<std::optional<std::string>(std::uint64_t)>& attempt);

} // namespace overtake::fuzz
