// SPDX-License-Identifier: MIT
//
// Boxes of an instruction's output: the piece of the instruction that makes a box, the inputs and
// the time that it takes, and the shares of cores.  Functions depend on their arguments alone; only
// piece() changes one, the constants.
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

/// Returns the least box around both; an empty one adds nothing.
Box around(const Box& a, const Box& b);

/// Returns the box of the instruction's whole output.
Box whole(const overtake_insn& insn);

/// Whether the instruction can be cut into pieces.
bool can_cut(const overtake_insn& insn);

/// Returns the least box around this one at whose borders the instruction can be cut; the whole
/// output if no piece makes that box.
Box aligned(const overtake_insn& insn, const Box& box);

/// Returns piece() of an aligned box that is not empty, without its constants.
overtake_insn piece_shape(const overtake_insn& insn, const Box& box);

/// Returns the instruction that makes an aligned box of the output of `insn`, in the same memory.
overtake_insn piece(const overtake_insn& insn, const Box& box, Constants& constants);

/// Returns the cost of piece() on a core.
std::uint64_t piece_cost(const overtake_insn& insn, const Box& box, const ovt_profile& profile);

/// Returns the part of in[input] that piece() reads, counted from that operand's first element;
/// empty: none.
Box needed(const overtake_insn& insn, std::size_t input, const Box& box);

/// Returns the same for `part`, the piece_shape() of a box.
Box needed_by(const overtake_insn& insn, std::size_t input, const overtake_insn& part);

/// Returns the number of products that the instruction sums up, or of elements that a pool reads
/// for its outputs; for other instructions, the number of elements that they make.
std::uint64_t operations(const overtake_insn& insn);

/// Returns the box of the tensor `outer` that is `box` of `inner`, a part of that tensor.
Box seen_from(const overtake_operand& outer, const overtake_operand& inner, const Box& box);

/// Returns shares of the output in proportion to the speeds.  A core of speed 0 has no share, and
/// others may have none if there is little to share.  Single: the fastest core has the whole
/// output.  Grid: the numbers of rows and columns with which the slowest share takes least time,
/// then with which cores read least.  Returns nothing, except for single, if fewer than two cores
/// would have a share, or if pieces cannot make the shares.
std::optional<Shares> shares(const overtake_insn& insn, Scheme scheme,
                             std::span<const double> speeds);

/// Returns shares of so many cores, of which one has the whole output.
Shares single_share(const overtake_insn& insn, std::size_t core, std::size_t cores);

/// Returns the number of positions of the output: of the least blocks of rows and columns into
/// which it can be cut.
std::uint64_t position_count(const overtake_insn& insn);

/// Returns shares of consecutive positions, row by row: `positions` has their number for each core,
/// and adds up to position_count().  A share has at most three boxes: the end of a row, whole rows,
/// the beginning of a row.  Returns nothing as shares() does.
std::optional<Shares> balanced_shares(const overtake_insn& insn,
                                      std::span<const std::uint64_t> positions);

/// Divides `count` in proportion to the speeds of cores: each number is within one of the exact
/// part.
std::vector<std::uint64_t> apportion(std::uint64_t count, std::span<const double> speeds);

} // namespace overtake::compiler
