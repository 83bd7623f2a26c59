// SPDX-License-Identifier: MIT
//
// How long operators of the CPU and conversions of layouts are taken to last where layouts are
// chosen: nanoseconds of one core of 2023 that has AVX2.  What is the same in all layouts of an
// operator counts as well, since a plan says what it takes.
#pragma once

#include <cstddef>

namespace overtake::cpu {

constexpr double step_ns = 300; // that a kernel or a conversion takes beside its work

/// Of a conversion between planes and blocks, of so many floats in blocks.
inline double conversion_ns(std::size_t stored) {
    return step_ns + 0.35 * static_cast<double>(stored);
}

/// Of a pass over so many floats, one after the other.
inline double elements_ns(std::size_t stored, double each = 0.4) {
    return step_ns + each * static_cast<double>(stored);
}

/// Of so many multiply-accumulates of a convolution.
inline double convolution_ns(double macs) {
    return step_ns + macs / 40;
}

} // namespace overtake::cpu
