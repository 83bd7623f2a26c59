// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace overtake::compiler {

/// What the CPU that runs the CPU segments does: an order of magnitude, for estimates in reports.
struct CpuRates {
    std::uint32_t macs_per_us = 4000;
    std::uint32_t bytes_per_us = 500; ///< read and written, float32
    std::uint32_t operator_ns = 1000; ///< that an operator takes beside its work

    bool operator==(const CpuRates&) const = default;
};

} // namespace overtake::compiler
