// SPDX-License-Identifier: MIT
//
// Compares plans for several cores with the one-core program, bit by bit, in any order that the
// stages permit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "compiler/cores/generate.hpp"
#include "compiler/cores/growth.hpp"
#include "compiler/cores/layered_network.hpp"

namespace overtake::test {

using Random = std::mt19937;

using CoreNetwork = compiler::LayeredNetwork;

/// Schemes that cut a layer.
inline constexpr compiler::Scheme cutting[] = {compiler::Scheme::row, compiler::Scheme::column,
                                               compiler::Scheme::grid, compiler::Scheme::channel,
                                               compiler::Scheme::balanced};

/// Returns the profile `default`.
const ovt_profile& usual();

/// Returns a random number from first to last.
std::uint32_t pick(Random& random, std::uint32_t first, std::uint32_t last);

/// The options by which random_blocks() draws blocks.
struct BlockChoice {
    std::optional<compiler::Scheme> scheme; ///< of each block whose last layer it can cut
    std::size_t most_layers = 8;            ///< that a block may have
    bool any_boxes = false;                 ///< whether shares may be boxes that no scheme makes
    bool equal_speeds = false;
};

/// Returns blocks of random length, schemes and speeds for all layers of a segment.
std::vector<compiler::Block> random_blocks(Random& random, const compiler::SegmentLayers& segment,
                                           std::size_t cores, const BlockChoice& choice);

/// Returns a stage for each block of a segment: the first stage in which it may run, or a later
/// one.
std::vector<std::size_t> random_stages(Random& random, const compiler::SegmentLayers& segment,
                                       const std::vector<compiler::Block>& blocks);

/// Runs each segment by the program's steps, and then by the plan's steps, stage by stage.  The
/// parts of a stage run in random order: step by step in turns, or in threads.  Their memory holds
/// random bytes before.  Returns what is wrong: outputs that differ, or bytes that one part of a
/// stage writes and another part touches.
std::string compare_plan(Random& random, const CoreNetwork& network,
                         const compiler::CorePlan& plan);

} // namespace overtake::test
