// SPDX-License-Identifier: MIT
//
// A block of layers that grows backwards: what each core computes of each layer.
#pragma once

#include <deque>
#include <vector>

#include "compiler/cores/geometry.hpp"
#include "compiler/cores/layers.hpp"
#include "compiler/cores/prices.hpp"

namespace overtake::compiler {

/// Begins with one layer, the last, and takes in the one in front as long as that may be private to
/// each core.  Of those a core computes the least box around what its later layers need.
class Growth {
public:
    /// With prices cycles() counts.  Segment and prices outlive it.
    Growth(const SegmentLayers& segment, std::size_t last, const Shares& shares,
           const CorePrices* prices = nullptr);

    /// False, and nothing has changed, where the layer in front has to be transmitted.
    bool take_in();

    std::size_t first() const { return last_ + 1 - boxes_.size(); }
    std::size_t last() const { return last_; }

    /// Returns the parts that the cores compute of a layer from first() to last().
    const Shares& boxes(std::size_t layer) const { return boxes_[last_ - layer]; }

    /// By core, of all layers, FCs' overhead aside.
    const std::vector<std::uint64_t>& cycles() const { return cycles_; }

    /// That all cores read of the first layer's inputs.
    std::uint64_t bytes_read() const { return bytes_read_; }

private:
    void add(std::size_t layer, Shares boxes);
    void need(std::size_t layer, std::size_t core, const overtake_insn& part);

    const SegmentLayers& segment_;
    const std::size_t last_;
    const CorePrices* const prices_;
    std::vector<Shares> boxes_;            // the last layer's first
    std::vector<std::vector<Box>> needed_; // by layer before that, by core; empty: not at all
    std::vector<std::uint64_t> cycles_;
    std::uint64_t bytes_read_ = 0;
};

/// Whether all layers but the last may be private to each core: then they can be one block.
bool can_be_block(const SegmentLayers& segment, std::size_t first, std::size_t count);

/// By layer of such a block, by core, what it computes.
std::vector<Shares> grow(const SegmentLayers& segment, std::size_t first, std::size_t count,
                         const Shares& shares);

} // namespace overtake::compiler
