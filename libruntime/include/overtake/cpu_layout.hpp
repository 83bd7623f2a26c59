// SPDX-License-Identifier: MIT
//
// CpuLayout: how the values between operators of the CPU lie in memory.
#pragma once

#include <cstdint>

namespace overtake {

/// The layout of values between operators of the CPU.  Results are the same bits with each of them;
/// times differ.
enum class CpuLayout : std::uint8_t {
    automatic, ///< for each value the layout that makes its segment fastest, or the one that its
               ///< file says
    planes,    ///< dense, in ONNX's order
    blocked    ///< 8 or 16 channels side by side wherever operators can, as AVX registers hold them
};

} // namespace overtake
