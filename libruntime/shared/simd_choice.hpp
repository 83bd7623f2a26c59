// SPDX-License-Identifier: MIT
//
// The vector instructions with which this process's embedded devices and servers compute.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "overtake/error.hpp"

extern "C" {
#include "hw/simd/choose.h"
}

namespace overtake {

/// Returns the best instructions that the CPU has, nothing for scalar code.  OVERTAKE_SIMD in the
/// environment limits them: off, or the name of a level; auto does not limit them.
///
/// @throw Error with EINVAL for any other name.
inline std::optional<ovt_simd_level> chosen_simd() {
    const char* environment = std::getenv("OVERTAKE_SIMD");
    const std::string_view name = environment ? environment : "";
    bool is_allowed = name.empty() || name == "auto";
    std::optional<ovt_simd_level> best;
    for (int number = OVT_SIMD_LEVELS; number-- > 0;) {
        const auto level = static_cast<ovt_simd_level>(number);
        is_allowed = is_allowed || name == ovt_simd_level_name(level);
        if (is_allowed && !best && ovt_simd_has(level))
            best = level;
    }
    if (!is_allowed && name != "off")
        throw Error(EINVAL, "OVERTAKE_SIMD=" + std::string(name) +
                                ": not auto (the best of this CPU), avx512-vbmi, avx512-vnni, "
                                "avx-vnni, avx2 or off");
    return best;
}

} // namespace overtake
