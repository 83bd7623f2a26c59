// SPDX-License-Identifier: MIT
//
// What blocks of layers need of each other, and when they run.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compiler/cores/core_plan.hpp"
#include "compiler/cores/layers.hpp"

namespace overtake::compiler {

/// The core that has all of the block's output; none of a block that cores share.
constexpr std::size_t no_core = ~std::size_t{0};
std::size_t only_core(const Block& block);

/// By block, its stage: one after the other.  Blocks of one core, the same for all of them, that
/// follow each other share one.
std::vector<std::size_t> stages_in_order(std::span<const Block> blocks);

/// By block, ascending, the blocks that have to be done before it: it reads what they write, or
/// writes where they read or write.
std::vector<std::vector<std::size_t>> needed_blocks(const SegmentLayers& segment,
                                                    std::span<const Block> blocks);

/// By block, when it runs: two blocks at the same time may be in each other's way, so their memory
/// is apart.  Grows with the stages; the blocks of a stage have one time each, by index, where one
/// core has them all.
std::vector<std::size_t> times_of(std::span<const Block> blocks,
                                  std::span<const std::size_t> stages);

} // namespace overtake::compiler
