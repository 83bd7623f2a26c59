// SPDX-License-Identifier: MIT
//
// Plans for several cores against the one-core program, bit by bit, in any order that stages
// permit.
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

/// The profile `default`.
const ovt_profile& usual();

/// One of first..last.
std::uint32_t pick(Random& random, std::uint32_t first, std::uint32_t last);

/// How random_blocks() draws.
struct BlockChoice {
    std::optional<compiler::Scheme> scheme; ///< of all blocks where it cuts the last layer
    std::size_t most_layers = 8;            ///< of a block
    bool any_boxes = false;                 ///< shares of boxes that no scheme makes
    bool equal_speeds = false;
};

/// Blocks of random length, schemes and speeds for all layers of a segment.
std::vector<compiler::Block> random_blocks(Random& random, const compiler::SegmentLayers& segment,
                                           std::size_t cores, const BlockChoice& choice);

/// For blocks of a segment, stages in which they may run: each block in the first, or later.
std::vector<std::size_t> random_stages(Random& random, const compiler::SegmentLayers& segment,
                                       const std::vector<compiler::Block>& blocks);

/// Runs each segment by the program's steps and by the plan's: stage by stage, the parts of one in
/// random order, step by step in turns or in threads, in memory that holds anything before. Returns
/// what is wrong: outputs that differ, or bytes that one part writes and another one touches in a
/// stage.
std::string compare_plan(Random& random, const CoreNetwork& network,
                         const compiler::CorePlan& plan);

} // namespace overtake::test
