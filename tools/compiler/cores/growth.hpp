// SPDX-License-Identifier: MIT
//
// A block of layers that grows backwards: the part of each layer that each core computes.
#pragma once

#include <deque>
#include <vector>

#include "compiler/cores/geometry.hpp"
#include "compiler/cores/layers.hpp"
#include "compiler/cores/prices.hpp"

namespace overtake::compiler {

/// Begins with one layer, the last.  Takes in the layer in front while that may be private to each
/// core.  Of a private layer a core computes the least box around all that its later layers need.
class Growth {
public:
    /// With `prices`, cycles() counts.  `segment` and `prices` outlive the object.
    Growth(const SegmentLayers& segment, std::size_t last, const Shares& shares,
           const CorePrices* prices = nullptr);

    /// Takes in the layer in front.  Returns false, and changes nothing, if there is none or if it
    /// cannot be private to each core.
    bool take_in();

    std::size_t first() const { return last_ + 1 - boxes_.size(); }
    std::size_t last() const { return last_; }

    /// Returns the parts that the cores compute of a layer from first() to last().
    const Shares& boxes(std::size_t layer) const { return boxes_[last_ - layer]; }

    /// Returns the cycles of all layers, by core, without the overhead of FCs.
    const std::vector<std::uint64_t>& cycles() const { return cycles_; }

    /// Returns the bytes that all cores read of the first layer's inputs.
    std::uint64_t bytes_read() const { return bytes_read_; }

private:
    void add(std::size_t layer, Shares boxes);
    void need(std::size_t layer, std::size_t core, const overtake_insn& part);

    const SegmentLayers& segment_;
    const std::size_t last_;
    const CorePrices* const prices_;
    std::vector<Shares> boxes_;            // the last layer's first
    std::vector<std::vector<Box>> needed_; // by layer in front of the last, by core
    std::vector<std::uint64_t> cycles_;
    std::uint64_t bytes_read_ = 0;
};

/// Whether all layers but the last may be private to each core: then they can be one block.
bool can_be_block(const SegmentLayers& segment, std::size_t first, std::size_t count);

/// Returns, by layer of such a block, the boxes that each core computes.  `shares` are those of the
/// last layer.
std::vector<Shares> grow(const SegmentLayers& segment, std::size_t first, std::size_t count,
                         const Shares& shares);

} // namespace overtake::compiler
