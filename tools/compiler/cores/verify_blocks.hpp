// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "compiler/cores/core_plan.hpp"
#include "compiler/cores/layers.hpp"

namespace overtake::compiler {

/// Throws CompileError unless the blocks cover all layers in order, what each transmits late may be
/// private, its shares are pieces that together make all of the output once, and its stage is
/// behind those of all blocks that it needs, or the same where one core has both.  An error that it
/// finds is a bug of the compiler, never of the user.
void verify_blocks(const Graph& graph, const SegmentLayers& segment, std::span<const Block> blocks,
                   std::span<const std::size_t> stages, std::size_t cores);

} // namespace overtake::compiler
