// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace overtake::fuzz {

/// An invariant does not hold. what() names the invariant, the place and the time.
class Violation : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

template <class... Arguments>
[[noreturn]] void violate(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    throw Violation(fmt::format(text, std::forward<Arguments>(arguments)...));
}

} // namespace overtake::fuzz
