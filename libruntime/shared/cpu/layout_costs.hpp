// SPDX-License-Identifier: MIT
//
// Layouts are chosen by these times of CPU operators and of conversions between layouts.  Time that
// is the same in all layouts of an operator counts as well, since a plan states its whole time.
#pragma once

#include <cstddef>
#include <span>

namespace overtake::cpu {

/// Times in nanoseconds.  The defaults are those of a core of 2023 that has AVX-512.  "Each" means
/// for each float32 in memory.
struct LayoutCosts {
    double step = 50;              ///< of a kernel or a conversion, beside its work
    double conversion = 0.2;       ///< between planes and blocks, each float in blocks
    double element = 0.12;         ///< a function of one or two elements, each
    double following = 0.08;       ///< likewise, in place after another operator
    double copied = 0.25;          ///< a concatenation, each
    double padded = 12;            ///< a padding, each
    double interpolated = 0.6;     ///< an interpolation, each tap of each
    double reduced = 1.6;          ///< a reduction, each float that is read
    double pool_in_planes = 10;    ///< a pool in planes, each,
    double tap_in_planes = 1.1;    ///< and for each tap
    double pool_in_blocks = 0.9;   ///< likewise in blocks
    double tap_in_blocks = 0.2;    ///<
    double device_to_planes = 1.2; ///< from or to the device's int8 tensors, each
    double device_to_blocks = 1.2; ///<
    double macs = 90;              ///< multiply-accumulates of a convolution in 1 ns

    /// Returns the time of a conversion between planes and blocks, with so many floats in blocks.
    double conversion_ns(std::size_t stored) const {
        return step + conversion * static_cast<double>(stored);
    }

    /// Returns the time of a kernel that takes `each` for each of `stored` floats.
    double elements_ns(std::size_t stored, double each) const {
        return step + each * static_cast<double>(stored);
    }

    /// Returns the time of so many multiply-accumulates of a convolution.
    double convolution_ns(double count) const { return step + count / macs; }
};

/// A number of LayoutCosts, by its name in files.
struct LayoutCost {
    const char* name;
    double LayoutCosts::*number;
};
std::span<const LayoutCost> layout_cost_names();

} // namespace overtake::cpu
