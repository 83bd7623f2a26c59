// SPDX-License-Identifier: MIT
//
// CpuLayout: how the values between operators of the CPU lie in memory.
#pragma once

#include <cstdint>

namespace overtake {

/// The layout of values between operators of the CPU.  Results have the same bits with every
/// layout; times differ.
enum class CpuLayout : std::uint8_t {
    automatic, ///< for each value the layout that the model file names, or else the layout that
               ///< makes its segment fastest
    planes,    ///< dense, in ONNX's order
    blocked    ///< blocks of 8 or 16 channels, as AVX registers hold them, where operators can
};

} // namespace overtake
