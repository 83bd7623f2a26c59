// SPDX-License-Identifier: MIT
//
// The dependencies between blocks of layers, and the times at which blocks run.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compiler/cores/core_plan.hpp"
#include "compiler/cores/layers.hpp"

namespace overtake::compiler {

/// The core that has all of the block's output; no_core for a block that cores share.
constexpr std::size_t no_core = ~std::size_t{0};
std::size_t only_core(const Block& block);

/// Returns the stage of each block: one after the other.  Consecutive blocks that run on one and
/// the same core share a stage.
std::vector<std::size_t> stages_in_order(std::span<const Block> blocks);

/// Returns, by block, the blocks that have to be done before it, ascending: it reads what they
/// write, or writes where they read or write.
std::vector<std::vector<std::size_t>> needed_blocks(const SegmentLayers& segment,
                                                    std::span<const Block> blocks);

/// Returns the time of each block.  Two blocks at the same time may interfere, so their memory is
/// separate.  Times grow with the stages; the blocks of a stage have one time each, by index, if
/// one core has them all.
std::vector<std::size_t> times_of(std::span<const Block> blocks,
                                  std::span<const std::size_t> stages);

} // namespace overtake::compiler
