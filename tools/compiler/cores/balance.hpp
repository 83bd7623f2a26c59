// SPDX-License-Identifier: MIT
//
// Balanced shares: each core gets positions of an output according to the time that it takes for
// them, by measurement or model.
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

/// Returns the nanoseconds that a core takes for these boxes of an instruction's output; `core` is
/// an index.
using SharePrice =
    std::function<double(const overtake_insn& insn, std::span<const Box> boxes, std::size_t core)>;

/// Returns prices by the cycle model of the cores, without the overhead of FCs.  `cores` outlives
/// them.
SharePrice model_price(std::span<const std::shared_ptr<const ovt_profile>> cores);

/// Returns `prices` in nanoseconds, by the clocks of the cores.  Both arguments outlive the result.
SharePrice share_price(const CorePrices& prices,
                       std::span<const std::shared_ptr<const ovt_profile>> cores);

/// Makes a price for instructions of a program's layers; all arguments outlive the price.
using SharePriceMaker =
    std::function<SharePrice(const Graph& graph, const QuantisedGraph& quantised,
                             const Program& program, std::span<const SegmentLayers> segments)>;

struct BalanceOptions {
    std::uint64_t step = 0;    ///< positions that move at once; 0: a 32nd of all
    double threshold = 0.02;   ///< the shortest share may take less than the longest by this part
    std::uint32_t rounds = 64; ///< the most rounds
    bool operator==(const BalanceOptions&) const = default;
};

/// Begins with shares in proportion to `speeds`.  Moves positions from the core that takes longest
/// to the core that is done first, until their times are within the threshold of each other, or for
/// `rounds` rounds.  If two cores take turns at that, fewer positions move.  Returns the best
/// shares of all rounds; nothing if shares(balanced) returns none.
std::optional<Shares> balance(const overtake_insn& insn, std::span<const double> speeds,
                              const SharePrice& price, const BalanceOptions& options);

} // namespace overtake::compiler
