// SPDX-License-Identifier: MIT
//
// The time that an operator of the CPU is expected to take before it has been measured.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace overtake::cpu {

/// The rates of a profile's CPU.
struct Rates {
    std::uint32_t macs_per_us = 4000;
    std::uint32_t bytes_per_us = 500; ///< float32 bytes that are read and written
    std::uint32_t operator_ns = 1000; ///< the time of an operator beside its work

    /// Returns the time of one operator, from its multiply-accumulates and the float32 elements of
    /// its inputs and outputs.  A rate of 0 counts as 1.
    double microseconds(std::uint64_t macs, std::uint64_t elements) const {
        const auto rate = [](std::uint32_t given) { return std::max(given, 1u); };
        return static_cast<double>(macs) / rate(macs_per_us) +
               static_cast<double>(elements) * sizeof(float) / rate(bytes_per_us) +
               operator_ns / 1000.0;
    }

    /// Returns a number for a file, from a time of microseconds() or the sum of several.
    static std::uint64_t nanoseconds(double us) {
        const double ns = std::round(us * 1000);
        return ns < 0x1p63 ? static_cast<std::uint64_t>(ns) : INT64_MAX;
    }

    bool operator==(const Rates&) const = default;
};

} // namespace overtake::cpu
