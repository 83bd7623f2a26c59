// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "scheduler/case.hpp"

namespace overtake::fuzz {

/// Instructions that all jobs share: delays (i + 1 ticks at i), an invalid one, a loop.
class Program {
public:
    Program() {
        for (std::uint32_t i = 0; i < longest_fc; i++)
            code_[i] = delay(i + 1);
        code_[bad].opcode = OVERTAKE_OP_COUNT;
        code_[loop] = delay(5);
        code_[loop + 1].opcode = OVERTAKE_OP_JUMP;
        code_[loop + 1].jump_target = loop;
    }

    ovt_fc range(const Fc& fc) const {
        switch (fc.kind) {
        case FcKind::bad_instruction:
            return {bad, 1};
        case FcKind::stuck:
            return {loop, 2};
        default:
            return {fc.duration - 1, 1};
        }
    }
    ovt_region region() const {
        // The device only reads programs.
        auto* base = reinterpret_cast<u8*>(const_cast<overtake_insn*>(code_.data()));
        return {base, sizeof(code_), 0, 0};
    }

private:
    static constexpr std::uint32_t bad = longest_fc;
    static constexpr std::uint32_t loop = longest_fc + 1;

    static overtake_insn delay(std::uint64_t cycles) {
        overtake_insn insn = {};
        insn.opcode = OVERTAKE_OP_DELAY;
        insn.delay_cycles = cycles;
        return insn;
    }

    std::array<overtake_insn, longest_fc + 3> code_ = {};
};

} // namespace overtake::fuzz
