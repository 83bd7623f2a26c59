// SPDX-License-Identifier: MIT
//
// The room that public structs have for later fields.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

#include "overtake/error.hpp"

namespace overtake {

template <std::size_t size>
bool is_zero(const std::array<std::uint64_t, size>& reserved) {
    return std::ranges::all_of(reserved, [](std::uint64_t word) { return word == 0; });
}

/// Throws Error EINVAL unless the room is empty: whoever fills it was compiled against a later
/// version and asks for what this one does not know.  `what` is the struct, in plain words.
template <std::size_t size>
void require_zero(const std::array<std::uint64_t, size>& reserved, const std::string& what) {
    if (!is_zero(reserved))
        throw Error(EINVAL, what + ": a reserved field is not zero; leave it zero, or install the "
                                   "version of the library that the program was compiled against");
}

template <std::size_t size>
void require_zero_in_job(const std::array<std::uint64_t, size>& reserved, std::uint64_t tag) {
    if (!is_zero(reserved))
        require_zero(reserved, "job " + std::to_string(tag));
}

} // namespace overtake
