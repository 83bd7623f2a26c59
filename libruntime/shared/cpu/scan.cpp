// SPDX-License-Identifier: MIT
//
// CumulativeSum.
#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

// integers: axis, exclusive (1: without the element itself), reverse (1: from the end).
std::string check_cumulative_sum(const Operation& operation) {
    if (operation.inputs.size() != 1 || operation.integers.size() != 3)
        return "needs one input and three numbers";
    if (operation.integers[0] < 0 ||
        operation.integers[0] >= static_cast<std::int64_t>(operation.output.size()))
        return "its axis lies outside the tensor";
    return operation.inputs[0] == operation.output ? "" : "input and output differ in shape";
}

Kernel make_cumulative_sum(const Operation& operation) {
    const Extents extents =
        around(operation.output, static_cast<std::size_t>(operation.integers[0]));
    return [extents, is_exclusive = operation.integers[1] != 0,
            is_reverse = operation.integers[2] != 0](const Inputs& in, std::span<float> out) {
        for (std::size_t outer = 0; outer < extents.outer; outer++)
            for (std::size_t inner = 0; inner < extents.inner; inner++) {
                float sum = 0;
                for (std::size_t i = 0; i < extents.length; i++) {
                    const std::size_t position = is_reverse ? extents.length - 1 - i : i;
                    const std::size_t at =
                        (outer * extents.length + position) * extents.inner + inner;
                    const float before = sum;
                    sum += in[0][at];
                    out[at] = is_exclusive ? before : sum;
                }
            }
    };
}

constexpr Entry scan_table[] = {
    {CpuOpType::cumulative_sum, "CumulativeSum", check_cumulative_sum, make_cumulative_sum},
};

} // namespace

std::span<const Entry> scan_operators() {
    return scan_table;
}

} // namespace overtake::cpu
