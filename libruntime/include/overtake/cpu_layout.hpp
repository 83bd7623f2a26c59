// SPDX-License-Identifier: MIT
//
// How values between operators of the CPU lie in memory.
#pragma once

#include <cstdint>

namespace overtake {

/// Results do not depend on it, bit for bit; times do.
enum class CpuLayout : std::uint8_t {
    automatic, ///< for each value what makes its segment fastest, or what its file says
    planes,    ///< dense, in ONNX's order
    blocked    ///< 8 or 16 channels side by side wherever operators can, as AVX registers hold them
};

} // namespace overtake
