// SPDX-License-Identifier: MIT
#include "compiler/cores/verify_blocks.hpp"

#include <algorithm>
#include <vector>

#include "compiler/cores/blocks.hpp"
#include "compiler/cores/growth.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

bool have_common_elements(const Box& a, const Box& b) {
    const auto meet = [](std::uint32_t first, std::uint32_t count, std::uint32_t other,
                         std::uint32_t others) {
        return first < other + others && other < first + count;
    };
    return meet(a.row, a.rows, b.row, b.rows) && meet(a.column, a.columns, b.column, b.columns) &&
           meet(a.channel, a.channels, b.channel, b.channels);
}

bool share_all_once(const overtake_insn& insn, const Shares& shares) {
    std::vector<Box> boxes;
    for (const std::vector<Box>& of : shares)
        boxes.insert(boxes.end(), of.begin(), of.end());
    std::uint64_t all = 0;
    for (std::size_t index = 0; index < boxes.size(); ++index) {
        if (is_empty(boxes[index]) || aligned(insn, boxes[index]) != boxes[index])
            return false;
        for (std::size_t other = 0; other < index; ++other)
            if (have_common_elements(boxes[index], boxes[other]))
                return false;
        all += elements(boxes[index]);
    }
    return all == elements(whole(insn));
}

} // namespace

void verify_blocks(const Graph& graph, const SegmentLayers& segment, std::span<const Block> blocks,
                   std::span<const std::size_t> stages, std::size_t cores) {
    const auto require = [&](bool holds, std::size_t layer, const char* what) {
        if (!holds)
            throw CompileError(layer < segment.layers.size()
                                   ? describe(graph.nodes[segment.layers[layer].step.node])
                                   : graph.name,
                               what);
    };
    std::size_t next = 0;
    for (const Block& block : blocks) {
        require(block.first_layer == next && block.layer_count > 0 &&
                    block.first_layer + block.layer_count <= segment.layers.size(),
                next, "is not in the block of layers behind the ones before");
        next += block.layer_count;
        require(can_be_block(segment, block.first_layer, block.layer_count), block.first_layer,
                "is in a block with layers that others read");
        require(block.shares.size() == cores &&
                    share_all_once(segment.layers[next - 1].step.insn, block.shares),
                next - 1, "is not shared by the cores");
    }
    require(next == segment.layers.size(), next, "is in no block");
    require(stages.size() == blocks.size(), segment.layers.size(), "has blocks without a stage");
    std::vector<bool> has_blocks(blocks.empty() ? 0 : std::ranges::max(stages) + 1);
    for (const std::size_t stage : stages)
        has_blocks[stage] = true;
    require(std::ranges::find(has_blocks, false) == has_blocks.end(), segment.layers.size(),
            "has a stage without blocks");
    const auto needs = needed_blocks(segment, blocks);
    for (std::size_t block = 0; block < blocks.size(); ++block)
        for (const std::size_t needed : needs[block])
            require(stages[needed] < stages[block] ||
                        (stages[needed] == stages[block] && only_core(blocks[block]) != no_core &&
                         only_core(blocks[needed]) == only_core(blocks[block])),
                    blocks[block].first_layer, "runs before what it needs");
}

} // namespace overtake::compiler
