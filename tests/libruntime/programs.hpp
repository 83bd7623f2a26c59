// SPDX-License-Identifier: MIT
//
// Small programs for tests, in device memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "overtake/device.hpp"

namespace overtake::test {

overtake_insn delay_insn(std::uint64_t cycles);
overtake_insn jump_insn(std::uint32_t target);
/// Copies a dense height x 1 x 8 tensor from region OVERTAKE_REGION_IO to the next one.
overtake_insn copy_insn(std::uint32_t height);

/// Instructions in a device buffer, with the bindings and FCs of a job that runs them.
struct Program {
    Program(Device& device, const std::vector<overtake_insn>& insns);

    /// Returns a job of all its FCs.  It points into this program, which has to live until submit()
    /// has returned.
    Job job(std::uint64_t tag, unsigned priority = 0, unsigned core = core_any) const;
    void bind(std::uint32_t region, const Buffer& buffer, std::uint32_t flags);

    std::unique_ptr<Buffer> buffer;
    std::vector<overtake_fc> fcs; ///< one FC for all instructions, unless changed
    std::vector<overtake_binding> bindings;
};

/// One FC for each duration, at 1 GHz on a device without overheads.
Program delays(Device& device, const std::vector<std::uint64_t>& microseconds);

} // namespace overtake::test
