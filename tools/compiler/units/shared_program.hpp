// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/program.hpp"

namespace overtake::compiler {

/// The instructions of several lowerings of one network.  Instructions that it has already are not
/// added again.
class SharedProgram {
public:
    explicit SharedProgram(const std::vector<Step>& steps);
    explicit SharedProgram(const std::vector<overtake_insn>& instructions);

    /// Returns the position at which these instructions, which an FC runs in this order, begin.
    /// Throws CompileError if the program gets too large.
    std::uint32_t place(std::span<const Step> steps);

    std::vector<overtake_insn> take() { return std::move(instructions_); }

private:
    void add(const overtake_insn& insn);

    std::vector<overtake_insn> instructions_;
    std::unordered_multimap<std::size_t, std::uint32_t> known_; // numbers by hash
};

} // namespace overtake::compiler
