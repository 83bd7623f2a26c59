// SPDX-License-Identifier: MIT
//
// Whether this process's embedded devices and servers compute with AVX2.
#pragma once

#include <cstdlib>
#include <string_view>

#include <ovt_simd_port.h>

namespace overtake {

/// True if the CPU has AVX2, unless OVERTAKE_SIMD=off is in the environment.
inline bool simd_is_on() {
    const char* environment = std::getenv("OVERTAKE_SIMD");
    return !(environment && std::string_view(environment) == "off") && ovt_simd_supported();
}

} // namespace overtake
