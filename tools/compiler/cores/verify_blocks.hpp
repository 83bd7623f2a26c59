// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "compiler/cores/core_plan.hpp"
#include "compiler/cores/layers.hpp"

namespace overtake::compiler {

/// Throws CompileError unless the blocks cover all layers in order, and each block fulfils the
/// following.  Its layers before the last may be private.  Its shares are pieces that together make
/// the whole output once.  Its stage is behind those of all blocks that it needs, or the same if
/// one core has both.  An error is a bug of the compiler, never of the user.
void verify_blocks(const Graph& graph, const SegmentLayers& segment, std::span<const Block> blocks,
                   std::span<const std::size_t> stages, std::size_t cores);

} // namespace overtake::compiler
