// SPDX-License-Identifier: MIT
#include "compiler/cores/plan.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/cores/generate.hpp"
#include "compiler/cores/geometry.hpp"
#include "compiler/cores/layers.hpp"
#include "compiler/lower/cost.hpp"

namespace overtake::compiler {
namespace {

constexpr Scheme all_schemes[] = {Scheme::single, Scheme::row,     Scheme::column,
                                  Scheme::grid,   Scheme::channel, Scheme::balanced};

class Layerwise {
public:
    explicit Layerwise(const CoreOptions& options) : options_(options) {}

    std::vector<Block> run(const SegmentLayers& segment) {
        std::vector<Block> blocks;
        before_ = no_core;
        for (std::size_t index = 0; index < segment.layers.size(); ++index) {
            blocks.push_back(best(segment.layers[index].step.insn));
            blocks.back().first_layer = index;
            blocks.back().layer_count = 1;
            before_ = only_core(blocks.back());
        }
        return blocks;
    }

private:
    std::vector<double> speeds(const overtake_insn& insn) const {
        std::vector<double> result;
        for (const auto& core : options_.cores)
            result.push_back(ovt_profile_lacks(core.get(), insn.opcode)
                                 ? 0
                                 : static_cast<double>(core->clock_khz) /
                                       static_cast<double>(cost(insn, *core)));
        return result;
    }

    // Of the stage that the layer adds.
    std::uint64_t ns_of(const overtake_insn& insn, const Block& block) const {
        const std::size_t only = only_core(block);
        std::uint64_t longest = 0;
        for (std::size_t core = 0; core < block.shares.size(); ++core) {
            std::uint64_t cycles = 0;
            for (const Box& box : block.shares[core])
                cycles += piece_cost(insn, box, *options_.cores[core]);
            const bool goes_on = only != no_core && only == before_;
            if (cycles > 0 && !goes_on)
                cycles += options_.cores[core]->fc_overhead_cycles + options_.cores[0]->sync_cycles;
            longest = std::max(longest, ovt_cycles_to_ns(options_.cores[core].get(), cycles));
        }
        return longest;
    }

    Block best(const overtake_insn& insn) const {
        const std::vector<double> speed = speeds(insn);
        Block best;
        std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
        for (const Scheme scheme : all_schemes) {
            if (scheme != Scheme::single && !options_.schemes.empty() &&
                std::ranges::count(options_.schemes, scheme) == 0)
                continue;
            auto found = shares(insn, scheme, speed);
            if (!found)
                continue;
            Block block{0, 1, scheme, std::move(*found)};
            const std::uint64_t ns = ns_of(insn, block);
            if (ns < least) {
                least = ns;
                best = std::move(block);
            }
        }
        return best;
    }

    const CoreOptions& options_;
    std::size_t before_ = no_core; // the core that has the layer before for itself
};

} // namespace

CorePlan plan_cores(const Graph& graph, const QuantisedGraph& quantised, Program& program,
                    const CoreOptions& options) {
    const std::vector<SegmentLayers> segments = layers_of(graph, quantised, program);
    std::vector<std::vector<Block>> blocks;
    for (const SegmentLayers& segment : segments)
        blocks.push_back(Layerwise(options).run(segment));
    return generate(graph, program, segments,
                    {options.cores, options.cores[0]->sync_cycles, options.max_time_per_fc_us},
                    blocks);
}

} // namespace overtake::compiler
