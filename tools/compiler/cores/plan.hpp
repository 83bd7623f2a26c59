// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compiler/cores/core_plan.hpp"
#include "compiler/cores/search.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

struct CoreOptions {
    std::vector<std::shared_ptr<const ovt_profile>> cores; ///< one for each; may be unlike
    std::vector<Scheme> schemes;                           ///< those to choose from; none: all
    bool overlap = true;                                   ///< blocks may have more than one layer
    std::uint32_t max_time_per_fc_us = 0;
    BalanceOptions balance = {};
    const CorePrices* prices = nullptr;        ///< null: prices of the cycle model
    SharePriceMaker share_prices = {};         ///< for balanced shares; none: `prices`
    std::function<void(double)> progress = {}; ///< called with the part that is done, 0..1
};

struct FoundPlan {
    std::vector<std::vector<Block>> blocks;       ///< by segment
    std::vector<std::vector<std::size_t>> stages; ///< of each block
    std::size_t core_count = 0;                   ///< the cores that it uses
    std::uint64_t ns = 0;                         ///< of all segments
    std::vector<std::uint64_t> by_cores;          ///< the shortest for 1, 2, ... of the cores
};

/// Finds the best blocks for each number of cores, beginning with the fastest core.  Takes more
/// cores only if they make the plan at least 2 % faster.
FoundPlan find_plan(std::span<const SegmentLayers> segments, const SearchOptions& options);

/// Makes the program again, for several cores.  Adds constants of pieces to the program.  If the
/// plan exceeds a group's limits of memory or FCs, makes it once more without joined stages.
/// Throws CompileError if that plan exceeds a limit, too, or if the cores lack an instruction.
CorePlan plan_cores(const Graph& graph, const QuantisedGraph& quantised, Program& program,
                    const CoreOptions& options);

} // namespace overtake::compiler
