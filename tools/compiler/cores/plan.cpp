// SPDX-License-Identifier: MIT
#include "compiler/cores/plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/cores/generate.hpp"
#include "compiler/cores/layers.hpp"
#include "compiler/cores/stages.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

// More cores may take at most this part of the time of fewer.
constexpr double least_gain = 0.98;

using Cores = std::span<const std::shared_ptr<const ovt_profile>>;

// Returns the number of layers whose instruction the core lacks, and the time of the other layers.
std::pair<std::size_t, std::uint64_t> slowness(std::span<const SegmentLayers> segments,
                                               const ovt_profile& profile, const CorePrices& prices,
                                               std::size_t core) {
    std::size_t lacks = 0;
    std::uint64_t cycles = 0;
    for (const SegmentLayers& segment : segments)
        for (const Layer& layer : segment.layers)
            if (ovt_profile_lacks(&profile, layer.step.insn.opcode))
                ++lacks;
            else
                cycles += prices.cycles(layer.step.insn, core);
    return {lacks, ovt_cycles_to_ns(&profile, cycles)};
}

// Returns the cores in the order of slowness(): those that lack the fewest layers first, and of
// these the fastest first.  Equal cores keep their order.
std::vector<std::size_t> by_speed(std::span<const SegmentLayers> segments, Cores cores,
                                  const CorePrices& prices) {
    std::vector<std::pair<std::size_t, std::uint64_t>> keys;
    for (std::size_t core = 0; core < cores.size(); ++core)
        keys.push_back(slowness(segments, *cores[core], prices, core));
    std::vector<std::size_t> order(cores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t core) { return keys[core]; });
    return order;
}

// Returns the better of two: the result of the search, and its result if each layer belongs to one
// core.  If blocks share a stage the second may be faster.
FoundBlocks find_blocks(const SegmentLayers& segment, const SearchOptions& options) {
    FoundBlocks best = search(segment, options);
    join_stages(segment, options, best);
    if (!options.overlap || !options.joins || std::ranges::count(options.uses, true) == 1)
        return best;
    SearchOptions alone = options;
    alone.schemes = {Scheme::single};
    alone.progress = {};
    FoundBlocks other = search(segment, alone);
    join_stages(segment, alone, other);
    return other.ns < best.ns ? other : best;
}

bool gains(std::uint64_t ns, std::uint64_t before) {
    return static_cast<double>(ns) <= static_cast<double>(before) * least_gain;
}

} // namespace

FoundPlan find_plan(std::span<const SegmentLayers> segments, const SearchOptions& options) {
    const ModelPrices model(options.cores, options.sync_cycles);
    const std::vector<std::size_t> order =
        by_speed(segments, options.cores, options.prices ? *options.prices : model);
    SearchOptions with = options;
    with.uses.assign(options.cores.size(), false);
    std::size_t all = 0, done = 0; // layers, of all numbers of cores
    for (const SegmentLayers& segment : segments)
        all += segment.layers.size() * order.size();
    FoundPlan best;
    for (std::size_t count = 1; count <= order.size(); ++count) {
        with.uses[order[count - 1]] = true;
        FoundPlan found;
        found.core_count = count;
        for (const SegmentLayers& segment : segments) {
            const auto layers = static_cast<double>(segment.layers.size());
            if (options.progress)
                with.progress = [&](double part) {
                    options.progress((static_cast<double>(done) + part * layers) /
                                     static_cast<double>(all));
                };
            FoundBlocks of = find_blocks(segment, with);
            done += segment.layers.size();
            found.ns = found.ns == no_plan || of.ns == no_plan ? no_plan : found.ns + of.ns;
            found.blocks.push_back(std::move(of.blocks));
            found.stages.push_back(std::move(of.stages));
        }
        found.by_cores = std::move(best.by_cores);
        found.by_cores.push_back(found.ns);
        if (count == 1 || gains(found.ns, best.ns))
            best = std::move(found);
        else
            best.by_cores = std::move(found.by_cores);
    }
    return best;
}

CorePlan plan_cores(const Graph& graph, const QuantisedGraph& quantised, Program& program,
                    const CoreOptions& options) {
    const std::vector<SegmentLayers> segments = layers_of(graph, quantised, program);
    const std::uint64_t sync_cycles = options.cores[0]->sync_cycles;
    SharePrice share_price;
    if (options.share_prices)
        share_price = options.share_prices(graph, quantised, program, segments);
    SearchOptions how{options.cores,
                      {},
                      sync_cycles,
                      options.schemes,
                      options.overlap,
                      options.max_time_per_fc_us,
                      options.balance,
                      options.prices,
                      share_price ? &share_price : nullptr,
                      options.progress};
    const std::size_t constants = program.constants.bytes().size();
    for (;;) {
        const FoundPlan found = find_plan(segments, how);
        if (found.ns == no_plan)
            throw CompileError("--core-profiles", "lack instructions that '" + graph.name +
                                                      "' needs; name cores that have them, or "
                                                      "move nodes to the CPU with --run-on-cpu");
        try {
            return generate(graph, program, segments,
                            {options.cores, sync_cycles, options.max_time_per_fc_us}, found.blocks,
                            found.stages);
        } catch (const LimitError&) {
            if (!how.joins)
                throw;
        }
        // Blocks that share a stage need more scratch memory at once, and may give more FCs.  The
        // next plan has no such stages.
        program.constants.shrink(constants);
        how.joins = false;
    }
}

} // namespace overtake::compiler
