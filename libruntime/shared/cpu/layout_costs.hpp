// SPDX-License-Identifier: MIT
//
// How long operators of the CPU and conversions of layouts are taken to last where layouts are
// chosen.  What is the same in all layouts of an operator counts as well, since a plan says what
// it takes.
#pragma once

#include <cstddef>
#include <span>

namespace overtake::cpu {

/// Nanoseconds; of a core of 2023 that has AVX-512, unless they were measured.  "Each" is of a
/// float32 in memory.
struct LayoutCosts {
    double step = 50;              ///< that a kernel or a conversion takes beside its work
    double conversion = 0.2;       ///< between planes and blocks, of each in blocks
    double element = 0.12;         ///< of a function of one or two elements, each
    double following = 0.08;       ///< the same, in place behind another operator
    double copied = 0.25;          ///< of a concatenation, each
    double padded = 12;            ///< each
    double interpolated = 0.6;     ///< each, and for each tap
    double reduced = 1.6;          ///< of a reduction, each that is read
    double pool_in_planes = 10;    ///< of a pool in planes, each,
    double tap_in_planes = 1.1;    ///< and for each tap
    double pool_in_blocks = 0.9;   ///< the same in blocks
    double tap_in_blocks = 0.2;    ///<
    double device_to_planes = 1.2; ///< from the device's int8 tensors, or to them, each
    double device_to_blocks = 1.2; ///<
    double macs = 90;              ///< multiply-accumulates of a convolution in a nanosecond

    /// Of a conversion between planes and blocks, of so many floats in blocks.
    double conversion_ns(std::size_t stored) const {
        return step + conversion * static_cast<double>(stored);
    }

    /// Of a pass over so many floats, one after the other.
    double elements_ns(std::size_t stored, double each) const {
        return step + each * static_cast<double>(stored);
    }

    /// Of so many multiply-accumulates of a convolution.
    double convolution_ns(double count) const { return step + count / macs; }
};

/// A number of LayoutCosts by its name in files.
struct LayoutCost {
    const char* name;
    double LayoutCosts::*number;
};
std::span<const LayoutCost> layout_cost_names();

} // namespace overtake::cpu
