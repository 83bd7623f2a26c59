// SPDX-License-Identifier: MIT
//
// Chooses the blocks of layers that share a stage.
#pragma once

#include "compiler/cores/layers.hpp"
#include "compiler/cores/search.hpp"

namespace overtake::compiler {

/// Lets blocks that do not need each other share a stage: each goes to the first stage that may
/// have it.  The largest blocks of such a stage stay as they are.  If this makes the stage shorter,
/// each of its other blocks goes to one core, layer by layer.  Leaves `found` as it is if the
/// joined stages take no less time, or if the values that cores share then need more than 8 MiB and
/// more than twice the memory.  Makes found.ns exact, in any case: it counts the limit of FCs and
/// the bytes that a stage reads, stage by stage.
void join_stages(const SegmentLayers& segment, const SearchOptions& options, FoundBlocks& found);

} // namespace overtake::compiler
