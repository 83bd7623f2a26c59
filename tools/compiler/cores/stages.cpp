// SPDX-License-Identifier: MIT
#include "compiler/cores/stages.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "compiler/cores/blocks.hpp"
#include "compiler/cores/growth.hpp"
#include "overtake_accel.h"

namespace overtake::compiler {
namespace {

// Joined stages may need this much memory even if it is more than twice that of stages in order.
constexpr std::uint64_t little_memory = 8 << 20;

using Cycles = std::vector<std::uint64_t>; // by core
constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

// Blocks that stay together.
struct Unit {
    std::vector<std::size_t> blocks; // ascending
    std::size_t stage = 0;
};

// The kind of unit: each block by itself, or consecutive blocks on one core that need each other.
enum class UnitsOf { block, core };

class Units {
public:
    Units(std::span<const Block> blocks, const std::vector<std::vector<std::size_t>>& needs,
          UnitsOf what)
        : blocks_(blocks), needs_(needs), unit_of_(blocks.size()) {
        for (std::size_t first = 0; first < blocks.size();) {
            std::size_t behind = first + 1;
            const std::size_t core = only_core(blocks[first]);
            while (what == UnitsOf::core && core != no_core && behind < blocks.size() &&
                   only_core(blocks[behind]) == core)
                ++behind;
            add_run(first, behind);
            first = behind;
        }
    }

    std::vector<Unit> take() { return std::move(units_); }

private:
    std::size_t root(std::size_t block) {
        while (parent_[block - first_] != block)
            block = parent_[block - first_] = parent_[parent_[block - first_] - first_];
        return block;
    }

    void add_run(std::size_t first, std::size_t behind) {
        first_ = first;
        parent_.resize(behind - first);
        std::iota(parent_.begin(), parent_.end(), first);
        for (std::size_t block = first; block < behind; ++block)
            for (const std::size_t needed : needs_[block])
                if (needed >= first)
                    join(block, needed);
        std::vector<std::size_t> unit_of_root(behind - first, no_core);
        const std::size_t first_unit = units_.size();
        for (std::size_t block = first; block < behind; ++block) {
            std::size_t& unit = unit_of_root[root(block) - first];
            if (unit == no_core) {
                unit = units_.size();
                units_.emplace_back();
            }
            units_[unit].blocks.push_back(block);
            unit_of_[block] = unit;
        }
        for (std::size_t unit = first_unit; unit < units_.size(); ++unit)
            place(units_[unit], first);
    }

    void join(std::size_t a, std::size_t b) {
        a = root(a);
        b = root(b);
        parent_[std::max(a, b) - first_] = std::min(a, b);
    }

    // Places a unit after all units that it needs.  Blocks that it needs from its own run are in
    // the unit.
    void place(Unit& unit, std::size_t first) {
        for (const std::size_t block : unit.blocks)
            for (const std::size_t needed : needs_[block])
                if (needed < first)
                    unit.stage = std::max(unit.stage, units_[unit_of_[needed]].stage + 1);
    }

    const std::span<const Block> blocks_;
    const std::vector<std::vector<std::size_t>>& needs_;
    std::vector<Unit> units_;
    std::vector<std::size_t> unit_of_; // by block
    std::size_t first_ = 0;            // of the run
    std::vector<std::size_t> parent_;  // by block of the run
};

// The cycles of a block on each core, and the bytes that its first layer reads.
struct Load {
    Cycles cycles;
    std::uint64_t bytes_read = 0;
};

void add(Cycles& to, const Cycles& cycles) {
    for (std::size_t core = 0; core < to.size(); ++core)
        to[core] += cycles[core];
}

// Computes the time of all stages from the loads of blocks.
class StageTimes {
public:
    StageTimes(const SegmentLayers& segment, const SearchOptions& options)
        : segment_(segment), options_(options), model_(options.cores, options.sync_cycles),
          prices_(options.prices ? *options.prices : model_) {}

    const CorePrices& prices() const { return prices_; }

    Load load_of(const Block& block) const {
        Growth growth(segment_, block.first_layer + block.layer_count - 1, block.shares, &prices_);
        while (growth.first() > block.first_layer && growth.take_in())
            ;
        return {growth.cycles(), growth.bytes_read()};
    }

    std::uint64_t of(std::span<const Block> blocks, std::span<const std::size_t> stages) const {
        const auto needs = needed_blocks(segment_, blocks);
        std::vector<Load> loads(stages.empty() ? 0 : std::ranges::max(stages) + 1);
        for (std::size_t block = 0; block < blocks.size(); ++block) {
            Load& load = loads[stages[block]];
            load.cycles.resize(options_.cores.size());
            const Load of = load_of(blocks[block]);
            add(load.cycles, of.cycles);
            if (std::ranges::none_of(needs[block], [&](std::size_t needed) {
                    return stages[needed] == stages[block];
                }))
                load.bytes_read += of.bytes_read;
        }
        std::uint64_t ns = 0;
        std::size_t before = no_stage_before;
        for (const Load& load : loads) {
            ns += stage_ns(options_, load.cycles, before, load.bytes_read);
            before = several_cores;
            if (std::ranges::count(load.cycles, 0u) + 1 == std::ssize(load.cycles))
                before = static_cast<std::size_t>(
                    std::ranges::find_if(load.cycles, [](auto of) { return of > 0; }) -
                    load.cycles.begin());
        }
        return ns;
    }

private:
    const SegmentLayers& segment_;
    const SearchOptions& options_;
    const ModelPrices model_;
    const CorePrices& prices_;
};

// Shares the units of one stage anew: the longest stay as they are, and each other unit gets one
// core.
class Sharing {
public:
    Sharing(const SegmentLayers& segment, const SearchOptions& options, const StageTimes& times,
            std::span<const Block> blocks, std::vector<Unit> units)
        : segment_(segment), options_(options), times_(times), blocks_(blocks),
          units_(std::move(units)) {
        for (const Unit& unit : units_) {
            usual_.push_back(as_it_is(unit));
            whole_.push_back(whole_on(layers_of(usual_.back().blocks)));
            sizes_.push_back(std::accumulate(usual_.back().cycles.begin(),
                                             usual_.back().cycles.end(), std::uint64_t{0}));
        }
        order_.resize(units_.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::ranges::stable_sort(order_, std::ranges::greater(),
                                 [&](std::size_t unit) { return sizes_[unit]; });
    }

    // Returns the blocks that replace those of the units.
    std::vector<Block> best() const {
        std::vector<Choice> chosen = usual_;
        std::uint64_t best_ns = ns_of(chosen);
        for (const std::size_t shared : counts()) {
            std::vector<Choice> choices = choose(shared);
            if (const std::uint64_t ns = ns_of(choices); ns < best_ns) {
                best_ns = ns;
                chosen = std::move(choices);
            }
        }
        std::vector<Block> blocks;
        for (Choice& choice : chosen)
            std::ranges::move(choice.blocks, std::back_inserter(blocks));
        return blocks;
    }

private:
    struct Choice {
        std::vector<Block> blocks;
        Cycles cycles;
    };

    // Returns the numbers of longest units that are tried to stay as they are: none, and powers of
    // two.
    std::vector<std::size_t> counts() const {
        std::vector<std::size_t> counts{0};
        for (std::size_t count = 1; count < units_.size(); count *= 2)
            counts.push_back(count);
        return counts;
    }

    std::vector<Choice> choose(std::size_t shared) const {
        std::vector<Choice> chosen(units_.size());
        Cycles all(options_.cores.size());
        for (std::size_t place = 0; place < order_.size(); ++place) {
            const std::size_t unit = order_[place];
            chosen[unit] = place < shared ? usual_[unit] : by_one_core(unit, all);
            add(all, chosen[unit].cycles);
        }
        return chosen;
    }

    Choice as_it_is(const Unit& unit) const {
        Choice choice{{}, Cycles(options_.cores.size())};
        for (const std::size_t block : unit.blocks) {
            choice.blocks.push_back(blocks_[block]);
            add(choice.cycles, times_.load_of(blocks_[block]).cycles);
        }
        return choice;
    }

    static std::vector<std::size_t> layers_of(const std::vector<Block>& blocks) {
        std::vector<std::size_t> layers;
        for (const Block& block : blocks)
            for (std::size_t layer = 0; layer < block.layer_count; ++layer)
                layers.push_back(block.first_layer + layer);
        return layers;
    }

    // Returns the cycles of all these layers together on each core; `never` for a core that may not
    // run them.
    Cycles whole_on(const std::vector<std::size_t>& layers) const {
        Cycles cycles(options_.cores.size(), never);
        for (std::size_t core = 0; core < cycles.size(); ++core) {
            if (!may_use(core, layers))
                continue;
            // A core with the same profile as the one before has the same cycles.
            if (core > 0 && cycles[core - 1] != never &&
                options_.cores[core] == options_.cores[core - 1]) {
                cycles[core] = cycles[core - 1];
                continue;
            }
            cycles[core] = 0;
            for (const std::size_t layer : layers)
                cycles[core] += times_.prices().cycles(insn(layer), core);
        }
        return cycles;
    }

    // Returns the unit on the core that is done with it first; unchanged if no core can run it
    // alone.  A block of several layers becomes separate blocks.
    Choice by_one_core(std::size_t unit, const Cycles& so_far) const {
        const Cycles& cycles = whole_[unit];
        std::size_t best = no_core;
        std::uint64_t best_ns = never;
        for (std::size_t core = 0; core < cycles.size(); ++core) {
            if (cycles[core] == never)
                continue;
            if (const std::uint64_t ns = ns_on(core, so_far[core] + cycles[core]); ns < best_ns) {
                best = core;
                best_ns = ns;
            }
        }
        if (best == no_core)
            return usual_[unit];
        Choice choice{{}, Cycles(options_.cores.size())};
        for (const std::size_t layer : layers_of(usual_[unit].blocks))
            choice.blocks.push_back(
                {layer, 1, Scheme::single, single_share(insn(layer), best, options_.cores.size())});
        choice.cycles[best] = cycles[best];
        return choice;
    }

    bool may_use(std::size_t core, std::span<const std::size_t> layers) const {
        return (options_.uses.empty() || options_.uses[core]) &&
               std::ranges::none_of(layers, [&](std::size_t layer) {
                   return ovt_profile_lacks(options_.cores[core].get(), insn(layer).opcode);
               });
    }

    const overtake_insn& insn(std::size_t layer) const { return segment_.layers[layer].step.insn; }

    std::uint64_t ns_on(std::size_t core, std::uint64_t cycles) const {
        return ovt_cycles_to_ns(options_.cores[core].get(), cycles);
    }

    std::uint64_t ns_of(const std::vector<Choice>& choices) const {
        Cycles all(options_.cores.size());
        for (const Choice& choice : choices)
            add(all, choice.cycles);
        return stage_ns(options_, all, several_cores);
    }

    const SegmentLayers& segment_;
    const SearchOptions& options_;
    const StageTimes& times_;
    const std::span<const Block> blocks_;
    const std::vector<Unit> units_;
    std::vector<Choice> usual_;        // by unit: unchanged
    std::vector<Cycles> whole_;        // by unit: all of it on each core, or `never`
    std::vector<std::uint64_t> sizes_; // by unit: its cycles
    std::vector<std::size_t> order_;   // units, the longest first
};

// Returns the most bytes of scratch memory that cores share at one time.
std::uint64_t shared_bytes_at_once(const SegmentLayers& segment, std::span<const Block> blocks,
                                   std::span<const std::size_t> stages) {
    const std::vector<std::size_t> times = times_of(blocks, stages);
    std::vector<std::size_t> first(segment.buffers.size(), never), last(first.size());
    const auto use = [&](const overtake_operand& operand, std::size_t time) {
        const Buffer* buffer = operand.channels > 0 ? buffer_of(segment, operand) : nullptr;
        if (!buffer || buffer->region != OVERTAKE_REGION_SCRATCH)
            return;
        const auto number = static_cast<std::size_t>(buffer - segment.buffers.data());
        last[number] = first[number] == never ? time : std::max(last[number], time);
        first[number] = std::min(first[number], time);
    };
    for (std::size_t index = 0; index < blocks.size(); ++index) {
        const Block& block = blocks[index];
        for (std::size_t count = 0; count < block.layer_count; ++count) {
            const Layer& layer = segment.layers[block.first_layer + count];
            for (const std::size_t input : {0, 1})
                if (layer.writers[input].empty() ||
                    layer.writers[input].front() < block.first_layer)
                    use(layer.step.insn.in[input], times[index]);
        }
        use(segment.layers[block.first_layer + block.layer_count - 1].step.insn.out, times[index]);
    }
    std::vector<std::int64_t> changes(blocks.size() + 1);
    for (std::size_t buffer = 0; buffer < first.size(); ++buffer)
        if (first[buffer] != never) {
            const auto bytes = static_cast<std::int64_t>(segment.buffers[buffer].bytes);
            changes[first[buffer]] += bytes;
            changes[last[buffer] + 1] -= bytes;
        }
    std::partial_sum(changes.begin(), changes.end(), changes.begin());
    return static_cast<std::uint64_t>(std::ranges::max(changes));
}

// Joins consecutive stages of blocks that only one core has, the same in all of them.
void join_those_of_one_core(std::vector<std::vector<Block>>& stages) {
    const auto core_of = [](const std::vector<Block>& blocks) {
        const std::size_t core = only_core(blocks.front());
        return std::ranges::all_of(blocks,
                                   [&](const Block& block) { return only_core(block) == core; })
                   ? core
                   : no_core;
    };
    std::size_t last = 0, core_of_last = core_of(stages[0]);
    for (std::size_t stage = 1; stage < stages.size(); ++stage) {
        const std::size_t core = core_of(stages[stage]);
        if (core != no_core && core == core_of_last) {
            std::ranges::move(stages[stage], std::back_inserter(stages[last]));
            continue;
        }
        core_of_last = core;
        if (++last != stage)
            stages[last] = std::move(stages[stage]);
    }
    stages.resize(last + 1);
}

// Returns the blocks in the order of their layers.
FoundBlocks in_order(const std::vector<std::vector<Block>>& stages) {
    std::vector<std::pair<Block, std::size_t>> all;
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
        for (const Block& block : stages[stage])
            all.emplace_back(block, stage);
    std::ranges::sort(all, {}, [](const auto& of) { return of.first.first_layer; });
    FoundBlocks found;
    for (auto& [block, stage] : all) {
        found.blocks.push_back(std::move(block));
        found.stages.push_back(stage);
    }
    return found;
}

// Returns blocks with joined stages; nothing if no two units share a stage.
std::optional<FoundBlocks> joined(const SegmentLayers& segment, const SearchOptions& options,
                                  const StageTimes& times, const FoundBlocks& found, UnitsOf what) {
    std::vector<Unit> units =
        Units(found.blocks, needed_blocks(segment, found.blocks), what).take();
    std::vector<std::vector<Unit>> by_stage;
    for (Unit& unit : units) {
        by_stage.resize(std::max(by_stage.size(), unit.stage + 1));
        by_stage[unit.stage].push_back(std::move(unit));
    }
    if (by_stage.size() == units.size())
        return std::nullopt;
    std::vector<std::vector<Block>> stages;
    for (std::vector<Unit>& of : by_stage)
        if (of.size() > 1) {
            stages.push_back(Sharing(segment, options, times, found.blocks, std::move(of)).best());
        } else {
            stages.emplace_back();
            for (const std::size_t block : of[0].blocks)
                stages.back().push_back(found.blocks[block]);
        }
    join_those_of_one_core(stages);
    return in_order(stages);
}

} // namespace

void join_stages(const SegmentLayers& segment, const SearchOptions& options, FoundBlocks& found) {
    if (found.ns == no_plan)
        return;
    const StageTimes times(segment, options);
    found.ns = times.of(found.blocks, found.stages);
    if (!options.overlap || !options.joins)
        return;
    std::optional<std::uint64_t> bytes_before;
    FoundBlocks best;
    best.ns = found.ns;
    for (const UnitsOf what : {UnitsOf::core, UnitsOf::block}) {
        auto other = joined(segment, options, times, found, what);
        if (!other)
            continue;
        if (!bytes_before)
            bytes_before = shared_bytes_at_once(segment, found.blocks, found.stages);
        other->ns = times.of(other->blocks, other->stages);
        const std::uint64_t bytes = shared_bytes_at_once(segment, other->blocks, other->stages);
        if (other->ns < best.ns && (bytes <= little_memory || bytes <= 2 * *bytes_before))
            best = std::move(*other);
    }
    if (!best.blocks.empty())
        found = std::move(best);
}

} // namespace overtake::compiler
