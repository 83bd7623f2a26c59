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
    bool overlap = true;                                   ///< blocks may be of more than one layer
    std::uint32_t max_time_per_fc_us = 0;
    BalanceOptions balance = {};
    const CorePrices* prices = nullptr;        ///< none: the cycle model's
    SharePriceMaker share_prices = {};         ///< by which shares are balanced; none: `prices`
    std::function<void(double)> progress = {}; ///< called with how much is done, 0..1
};

struct FoundPlan {
    std::vector<std::vector<Block>> blocks;       ///< by segment
    std::vector<std::vector<std::size_t>> stages; ///< of each of them
    std::size_t core_count = 0;                   ///< that it uses
    std::uint64_t ns = 0;                         ///< of all segments
    std::vector<std::uint64_t> by_cores;          ///< the least for 1, 2, ... of the cores
};

/// The best blocks for all cores and for each smaller number of them, the fastest first; more
/// cores are taken where they make the plan 2 % faster or more.
FoundPlan find_plan(std::span<const SegmentLayers> segments, const SearchOptions& options);

/// The program once more, for several cores.  Its constants grow by what pieces need.  Throws
/// CompileError where the plan exceeds limits of a group. If it exceeds those of memory or FCs, it
/// is made once more without joined stages.
CorePlan plan_cores(const Graph& graph, const QuantisedGraph& quantised, Program& program,
                    const CoreOptions& options);

} // namespace overtake::compiler
