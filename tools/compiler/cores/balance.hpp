// SPDX-License-Identifier: MIT
//
// Balanced shares: positions of an output in proportion to what each core takes for it, by
// measure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "compiler/cores/geometry.hpp"
#include "compiler/cores/layers.hpp"
#include "compiler/cores/prices.hpp"

namespace overtake::compiler {

/// Nanoseconds that a core takes for these boxes of an instruction's output; core: an index.
using SharePrice =
    std::function<double(const overtake_insn& insn, std::span<const Box> boxes, std::size_t core)>;

/// By the cycle model of the cores, which outlive it; FCs' overhead aside.
SharePrice model_price(std::span<const std::shared_ptr<const ovt_profile>> cores);

/// By prices for cores of those clocks; both outlive it.
SharePrice share_price(const CorePrices& prices,
                       std::span<const std::shared_ptr<const ovt_profile>> cores);

/// Makes a price for instructions of a program's layers; all of it outlives the price.
using SharePriceMaker =
    std::function<SharePrice(const Graph& graph, const QuantisedGraph& quantised,
                             const Program& program, std::span<const SegmentLayers> segments)>;

struct BalanceOptions {
    std::uint64_t step = 0;    ///< positions that move at once; 0: a 32nd of all
    double threshold = 0.02;   ///< of the longest share's time, that the shortest may be below it
    std::uint32_t rounds = 64; ///< at most
    bool operator==(const BalanceOptions&) const = default;
};

/// Begins with shares in proportion to `speeds` and moves positions from the core that takes
/// longest to the one that is done first, until they are within the threshold of each other.  Where
/// two cores take turns at that, fewer positions move.  The best shares that were seen; nothing
/// where shares(balanced) has none.
std::optional<Shares> balance(const overtake_insn& insn, std::span<const double> speeds,
                              const SharePrice& price, const BalanceOptions& options);

} // namespace overtake::compiler
