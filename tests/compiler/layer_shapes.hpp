// SPDX-License-Identifier: MIT
//
// Cores and layers of given shapes, for tests of plans for several cores.
#pragma once

#include <memory>
#include <vector>

#include "compiler/ir/firmware.hpp"

namespace overtake::test {

using Cores = std::vector<std::shared_ptr<const ovt_profile>>;

// Returns a core whose cycle takes so many whole nanoseconds: others would round in other places
// than the test.
inline std::shared_ptr<const ovt_profile> core_of(std::uint32_t slower, std::uint64_t sync_cycles) {
    auto profile = std::make_shared<ovt_profile>(*ovt_profile_find("default"));
    profile->clock_khz = 1000000 / slower;
    profile->sync_cycles = sync_cycles;
    return profile;
}

inline overtake_operand tensor(std::uint64_t offset, std::uint32_t height, std::uint32_t width,
                               std::uint32_t channels) {
    const std::uint32_t pixel = (channels + 7) / 8 * 8;
    return {OVERTAKE_REGION_SCRATCH, 0, offset, height, width, channels, width * pixel, pixel, 0};
}

// Returns a convolution of so many rows and columns, of 3 x 3 positions.
inline overtake_insn convolution(std::uint32_t height, std::uint32_t width) {
    overtake_insn insn{};
    insn.opcode = OVERTAKE_OP_CONV;
    insn.groups = 1;
    insn.kernel_height = insn.kernel_width = 3;
    insn.stride_height = insn.stride_width = insn.dilation_height = insn.dilation_width = 1;
    insn.pad_top = insn.pad_left = 1;
    insn.in[0] = insn.out = tensor(0, height, width, 32);
    return insn;
}

} // namespace overtake::test
