// SPDX-License-Identifier: MIT
//
// Cutting one instruction into several that together write the same bytes.
#pragma once

#include "compiler/ir/program.hpp"

namespace overtake::compiler {

/// Return a number of output rows (columns): an instruction can be cut at its multiples.  If it
/// cannot be cut, return all its rows (columns).
std::uint32_t row_step(const overtake_insn& insn);
std::uint32_t column_step(const overtake_insn& insn);

/// Return the part of `insn` that makes output rows (columns) [first, first + count), both
/// multiples of the step.
overtake_insn cut_rows(const overtake_insn& insn, std::uint32_t first, std::uint32_t count);
overtake_insn cut_columns(const overtake_insn& insn, std::uint32_t first, std::uint32_t count);

/// Returns an instruction that gives every element of `out` one value.  It reads `readable`, which
/// may be any tensor and does not change the result.
overtake_insn fill_instruction(const overtake_operand& out, const overtake_operand& readable,
                               int value);

/// Returns a number of output channels: an instruction can be cut at its multiples.  Returns 0 if
/// it cannot be cut by channels.
std::uint32_t channel_step(const overtake_insn& insn);

/// Returns the part that makes output channels [first, first + count).  `first` is a multiple of
/// channel_step(), and `count` is, too, unless the part is the last.  Appends parameters to
/// `constants`.
overtake_insn cut_channels(const overtake_insn& insn, std::uint32_t first, std::uint32_t count,
                           Constants& constants);

/// Returns the same part without its constants: the tensors that it reads and writes.
overtake_insn channel_shape(const overtake_insn& insn, std::uint32_t first, std::uint32_t count);

/// Returns the cost of such a part, without making it.
std::uint64_t channel_cut_cycles(const ovt_profile& profile, const overtake_insn& insn,
                                 std::uint32_t count);

} // namespace overtake::compiler
