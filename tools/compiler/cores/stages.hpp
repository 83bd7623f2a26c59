// SPDX-License-Identifier: MIT
//
// Chooses the blocks of layers that share a stage.
#pragma once

#include "compiler/cores/layers.hpp"
#include "compiler/cores/search.hpp"

namespace overtake::compiler {

/// Has blocks that do not need each other share a stage, each in the first that may have it.  Of
/// such a stage the largest blocks stay as they are, and each of the others is left whole to one
/// core where the stage is shorter so; a block of several layers then falls apart into theirs.
/// Found blocks stay as they are where that takes no less time, or if values would be alive for so
/// long that what cores share needs more than twice its memory and more than 8 MiB.  The time that
/// was found becomes exact: FCs' limit and the bytes that a stage reads are counted stage by stage.
void join_stages(const SegmentLayers& segment, const SearchOptions& options, FoundBlocks& found);

} // namespace overtake::compiler
