// SPDX-License-Identifier: MIT
#include "compiler/cores/blocks.hpp"

#include <algorithm>

namespace overtake::compiler {

std::size_t only_core(const Block& block) {
    std::size_t core = no_core;
    for (std::size_t each = 0; each < block.shares.size(); ++each) {
        if (block.shares[each].empty())
            continue;
        if (core != no_core)
            return no_core;
        core = each;
    }
    return core;
}

std::vector<std::size_t> stages_in_order(std::span<const Block> blocks) {
    std::vector<std::size_t> stages;
    std::size_t before = no_core;
    for (const Block& block : blocks) {
        const std::size_t core = only_core(block);
        if (stages.empty())
            stages.push_back(0);
        else
            stages.push_back(stages.back() + (core == no_core || core != before));
        before = core;
    }
    return stages;
}

std::vector<std::vector<std::size_t>> needed_blocks(const SegmentLayers& segment,
                                                    std::span<const Block> blocks) {
    std::vector<std::size_t> block_of(segment.layers.size());
    for (std::size_t block = 0; block < blocks.size(); ++block)
        for (std::size_t layer = 0; layer < blocks[block].layer_count; ++layer)
            block_of[blocks[block].first_layer + layer] = block;
    std::vector<std::vector<std::size_t>> needs(blocks.size());
    for (std::size_t index = 0; index < segment.layers.size(); ++index) {
        const Layer& layer = segment.layers[index];
        for (const auto* others : {&layer.writers[0], &layer.writers[1], &layer.overwrites})
            for (const std::size_t other : *others)
                if (block_of[other] != block_of[index])
                    needs[block_of[index]].push_back(block_of[other]);
    }
    for (std::vector<std::size_t>& of : needs) {
        std::ranges::sort(of);
        of.erase(std::unique(of.begin(), of.end()), of.end());
    }
    return needs;
}

std::vector<std::size_t> times_of(std::span<const Block> blocks,
                                  std::span<const std::size_t> stages) {
    const std::size_t count = blocks.empty() ? 0 : std::ranges::max(stages) + 1;
    std::vector<std::vector<std::size_t>> by_stage(count);
    for (std::size_t block = 0; block < blocks.size(); ++block)
        by_stage[stages[block]].push_back(block);
    std::vector<std::size_t> times(blocks.size());
    std::size_t time = 0;
    for (const std::vector<std::size_t>& of : by_stage) {
        const std::size_t core = of.empty() ? no_core : only_core(blocks[of[0]]);
        const bool has_one_core =
            core != no_core && std::ranges::all_of(of, [&](std::size_t block) {
                return only_core(blocks[block]) == core;
            });
        for (const std::size_t block : of) {
            times[block] = time;
            time += has_one_core;
        }
        time += !has_one_core;
    }
    return times;
}

} // namespace overtake::compiler
