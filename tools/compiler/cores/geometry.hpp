// SPDX-License-Identifier: MIT
//
// What a box of an instruction's output needs, costs and is made by, and how cores share one.  All
// of it follows from the arguments alone, but for the constants that piece() appends.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/cores/core_plan.hpp"
#include "compiler/ir/program.hpp"

namespace overtake::compiler {

/// Boxes by core.
using Shares = std::vector<std::vector<Box>>;

inline bool is_empty(const Box& box) {
    return box.rows == 0 || box.columns == 0 || box.channels == 0;
}

inline std::uint64_t elements(const Box& box) {
    return std::uint64_t{box.rows} * box.columns * box.channels;
}

/// The least box around both; an empty one adds nothing.
Box around(const Box& a, const Box& b);

/// All of the instruction's output.
Box whole(const overtake_insn& insn);

/// Whether pieces of it are less than the whole anywhere.
bool can_cut(const overtake_insn& insn);

/// The least box around this one at whose borders the instruction can be cut; all of the output
/// where no piece makes it.
Box aligned(const overtake_insn& insn, const Box& box);

/// Returns what piece() makes of an aligned box that is not empty, but for its constants.
overtake_insn piece_shape(const overtake_insn& insn, const Box& box);

/// The instruction that makes that aligned box of the output of `insn`, where `insn` makes it.
overtake_insn piece(const overtake_insn& insn, const Box& box, Constants& constants);

/// Returns the cost of piece() on a core.
std::uint64_t piece_cost(const overtake_insn& insn, const Box& box, const ovt_profile& profile);

/// Returns the part of in[input] that piece() reads, counted from that operand's first element;
/// empty: none.
Box needed(const overtake_insn& insn, std::size_t input, const Box& box);

/// Returns the part that a piece's shape reads.
Box needed_by(const overtake_insn& insn, std::size_t input, const overtake_insn& part);

/// Products that the instruction sums up, or elements that it makes where there are none.
std::uint64_t operations(const overtake_insn& insn);

/// The box of a tensor that lies as `outer` does where `inner`, a part of it, has `box`.
Box seen_from(const overtake_operand& outer, const overtake_operand& inner, const Box& box);

/// The output in shares in proportion to the speeds; a core of speed 0 has none, and others may
/// have none where there is little to share.  Single: all of it is the fastest core's.  Grid: the
/// rows x columns that make the cores wait and read least.  Nothing where less than two cores would
/// have a share, single aside.
std::optional<Shares> shares(const overtake_insn& insn, Scheme scheme,
                             std::span<const double> speeds);

/// All of the output for one of so many cores.
Shares single_share(const overtake_insn& insn, std::size_t core, std::size_t cores);

/// Positions of the output, row by row, of the least blocks at which it can be cut.
std::uint64_t position_count(const overtake_insn& insn);

/// The same number of positions in a row for each core, at most three boxes: the end of a row,
/// whole rows, the beginning of one.  `positions` add up to position_count().
std::optional<Shares> balanced_shares(const overtake_insn& insn,
                                      std::span<const std::uint64_t> positions);

/// So many things for cores in proportion to their speeds, each within one of what it ought to be.
std::vector<std::uint64_t> apportion(std::uint64_t count, std::span<const double> speeds);

} // namespace overtake::compiler
