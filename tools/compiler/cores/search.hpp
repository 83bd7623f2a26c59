// SPDX-License-Identifier: MIT
//
// The best blocks for a segment: a dynamic program over layers, with blocks that grow backwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "compiler/cores/balance.hpp"
#include "compiler/cores/core_plan.hpp"
#include "compiler/cores/layers.hpp"
#include "compiler/cores/prices.hpp"

namespace overtake::compiler {

struct SearchOptions {
    std::span<const std::shared_ptr<const ovt_profile>> cores;
    std::vector<bool> uses = {};      ///< which cores the plan may use; empty: all
    std::uint64_t sync_cycles = 0;    ///< of core 1
    std::vector<Scheme> schemes = {}; ///< beside single; none: all
    bool overlap = true;              ///< blocks may be of more than one layer
    std::uint32_t max_time_per_fc_us = 0;
    BalanceOptions balance = {};
    const CorePrices* prices = nullptr;        ///< none: the cycle model's
    const SharePrice* share_price = nullptr;   ///< by which shares are balanced; none: `prices`
    std::function<void(double)> progress = {}; ///< called with how much is done, 0..1
    bool joins = true;                         ///< blocks may share a stage, with overlap
};

/// The time if some layer runs on none of the cores.
constexpr std::uint64_t no_plan = std::numeric_limits<std::uint64_t>::max();

struct FoundBlocks {
    std::vector<Block> blocks;
    std::vector<std::size_t> stages; ///< by block
    std::uint64_t ns = 0;            ///< time alone, an estimate where FCs are split; or no_plan
};

/// Values for the core that ran the stage before: no stage, or several cores that wait for a sync.
constexpr std::size_t no_stage_before = ~std::size_t{0};
constexpr std::size_t several_cores = no_stage_before - 1;

/// Returns the nanoseconds of a stage in which each core has so many cycles to do, with the
/// overhead of FCs and the sync.  `before` is the core that alone ran the stage before, or one of
/// the two values above.  A core that alone runs both stages continues its FC, without overhead.
/// `bytes_read`: see Meeting.
std::uint64_t stage_ns(const SearchOptions& options, std::span<const std::uint64_t> cycles,
                       std::size_t before, std::uint64_t bytes_read = 0);

/// Returns the shares of the layer's output that the search takes for this scheme.  Of a single
/// layer the fastest core has all.
std::optional<Shares> layer_shares(const SearchOptions& options, const overtake_insn& insn,
                                   Scheme scheme);

/// Returns the blocks with the least time alone.  The time of the search is in proportion to layers
/// x schemes x length of blocks.
FoundBlocks search(const SegmentLayers& segment, const SearchOptions& options);

} // namespace overtake::compiler
