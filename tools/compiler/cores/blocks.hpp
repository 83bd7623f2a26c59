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

/// only_core() returns the core that has all of the block's output; no_core for a block that cores
/// share.
constexpr std::size_t no_core = ~std::size_t{0};
std::size_t only_core(const Block& block);

/// Returns the stage of each block.  Each block has a stage of its own, except that consecutive
/// blocks which run on one and the same core share a stage.
std::vector<std::size_t> stages_in_order(std::span<const Block> blocks);

/// Returns, by block, the blocks that have to be done before it, ascending: blocks whose results it
/// reads, and blocks that read or write where it writes.
std::vector<std::vector<std::size_t>> needed_blocks(const SegmentLayers& segment,
                                                    std::span<const Block> blocks);

/// Returns the time of each block, a number.  Two blocks with the same time may run at once, so
/// their memory is separate.  Times grow with the stages.  The blocks of a stage have the same
/// time, except if one core has them all: then each has its own, by index.
std::vector<std::size_t> times_of(std::span<const Block> blocks,
                                  std::span<const std::size_t> stages);

} // namespace overtake::compiler
