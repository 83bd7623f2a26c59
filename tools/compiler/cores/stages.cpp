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

// Of memory that joined stages may need where it is more than twice that of stages in order.
constexpr std::uint64_t little_memory = 8 << 20;

using Cycles = std::vector<std::uint64_t>; // by core

// Blocks that stay together.
struct Unit {
    std::vector<std::size_t> blocks; // ascending
    std::size_t stage = 0;
};

// What a unit is: each block by itself, or those that follow each other on one core and need each
// other.
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

    // Behind all that it needs; what it needs of its own run is in the unit.
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

// What a block takes on each core, and the bytes that its first layer reads.
struct Load {
    Cycles cycles;
    std::uint64_t bytes_read = 0;
};

void add(Cycles& to, const Cycles& cycles) {
    for (std::size_t core = 0; core < to.size(); ++core)
        to[core] += cycles[core];
}

class Joiner {
public:
    Joiner(const SegmentLayers& segment, const SearchOptions& options, const FoundBlocks& found)
        : segment_(segment), options_(options), found_(found),
          model_(options.cores, options.sync_cycles),
          prices_(options.prices ? *options.prices : model_),
          needs_(needed_blocks(segment, found.blocks)) {}

    /// None where that takes no less time, or too much memory.
    std::optional<FoundBlocks> run(UnitsOf what) {
        blocks_ = found_.blocks;
        units_ = Units(blocks_, needs_, what).take();
        stages_.assign(blocks_.size(), 0);
        by_stage_.assign(blocks_.size(), {});
        for (std::size_t unit = 0; unit < units_.size(); ++unit)
            by_stage_[units_[unit].stage].push_back(unit);
        if (std::ranges::none_of(by_stage_, [](const auto& units) { return units.size() > 1; }))
            return std::nullopt;
        const std::uint64_t before = time_of(found_.stages);
        for (const std::vector<std::size_t>& units : by_stage_)
            if (units.size() > 1)
                share_anew(units);
        number_stages();
        const std::uint64_t ns = time_of(stages_);
        if (ns >= before || needs_much_memory())
            return std::nullopt;
        return FoundBlocks{std::move(blocks_), std::move(stages_), ns};
    }

private:
    // Stages of one core that follow each other are one.
    void number_stages() {
        std::size_t number = 0, before = no_core;
        bool is_first = true;
        for (const std::vector<std::size_t>& units : by_stage_) {
            if (units.empty())
                break;
            std::size_t core = only_core(blocks_[units_[units[0]].blocks[0]]);
            for (const std::size_t unit : units)
                if (only_core(blocks_[units_[unit].blocks[0]]) != core)
                    core = no_core;
            if (!is_first && (core == no_core || core != before))
                ++number;
            is_first = false;
            before = core;
            for (const std::size_t unit : units)
                for (const std::size_t block : units_[unit].blocks)
                    stages_[block] = number;
        }
    }

    Load load_of(const Block& block) const {
        Growth growth(segment_, block.first_layer + block.layer_count - 1, block.shares, &prices_);
        while (growth.first() > block.first_layer && growth.take_in())
            ;
        return {growth.cycles(), growth.bytes_read()};
    }

    // Of all stages.
    std::uint64_t time_of(const std::vector<std::size_t>& stages) const {
        std::vector<Load> loads(stages.empty() ? 0 : std::ranges::max(stages) + 1);
        for (std::size_t block = 0; block < blocks_.size(); ++block) {
            Load& load = loads[stages[block]];
            load.cycles.resize(options_.cores.size());
            const Load of = load_of(blocks_[block]);
            add(load.cycles, of.cycles);
            if (std::ranges::none_of(needs_[block], [&](std::size_t needed) {
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

    // The most bytes that are alive at one time.
    std::uint64_t most_bytes(std::span<const Block> blocks,
                             const std::vector<std::size_t>& stages) const {
        const std::vector<std::size_t> times = times_of(blocks, stages);
        constexpr std::size_t never = no_core;
        std::vector<std::size_t> first(segment_.buffers.size(), never), last(first.size());
        const auto use = [&](const overtake_operand& operand, std::size_t time) {
            const Buffer* buffer = operand.channels > 0 ? buffer_of(segment_, operand) : nullptr;
            if (!buffer || buffer->region != OVERTAKE_REGION_SCRATCH)
                return;
            const auto number = static_cast<std::size_t>(buffer - segment_.buffers.data());
            last[number] = first[number] == never ? time : std::max(last[number], time);
            first[number] = std::min(first[number], time);
        };
        for (std::size_t block = 0; block < blocks.size(); ++block)
            for (std::size_t layer = 0; layer < blocks[block].layer_count; ++layer) {
                const auto& insn = segment_.layers[blocks[block].first_layer + layer].step.insn;
                use(insn.in[0], times[block]);
                use(insn.in[1], times[block]);
                use(insn.out, times[block]);
            }
        std::vector<std::int64_t> changes(blocks.size() + 1);
        for (std::size_t buffer = 0; buffer < first.size(); ++buffer)
            if (first[buffer] != never) {
                const auto bytes = static_cast<std::int64_t>(segment_.buffers[buffer].bytes);
                changes[first[buffer]] += bytes;
                changes[last[buffer] + 1] -= bytes;
            }
        std::partial_sum(changes.begin(), changes.end(), changes.begin());
        return static_cast<std::uint64_t>(std::ranges::max(changes));
    }

    bool needs_much_memory() const {
        const std::uint64_t bytes = most_bytes(blocks_, stages_);
        return bytes > little_memory && bytes > 2 * most_bytes(found_.blocks, found_.stages);
    }

    // ---- The layers of one stage, shared anew.

    bool may_use(std::size_t core, const Unit& unit) const {
        if (!options_.uses.empty() && !options_.uses[core])
            return false;
        return std::ranges::all_of(unit.blocks, [&](std::size_t block) {
            return !ovt_profile_lacks(options_.cores[core].get(), insn(block).opcode);
        });
    }

    const overtake_insn& insn(std::size_t block) const {
        return segment_.layers[blocks_[block].first_layer].step.insn;
    }

    std::uint64_t ns_on(std::size_t core, std::uint64_t cycles) const {
        return ovt_cycles_to_ns(options_.cores[core].get(), cycles);
    }

    // A way to share the blocks of a unit.
    struct Choice {
        std::vector<Scheme> schemes; // none: as they are
        std::vector<Shares> shares;
        Cycles cycles;
    };

    Choice as_it_is(const Unit& unit) const {
        Choice choice{{}, {}, Cycles(options_.cores.size())};
        for (const std::size_t block : unit.blocks)
            add(choice.cycles, load_of(blocks_[block]).cycles);
        return choice;
    }

    bool can_be_whole(const Unit& unit) const {
        return std::ranges::all_of(
            unit.blocks, [&](std::size_t block) { return blocks_[block].layer_count == 1; });
    }

    std::uint64_t cycles_of(const Unit& unit, std::size_t core) const {
        std::uint64_t cycles = 0;
        for (const std::size_t block : unit.blocks)
            cycles += prices_.cycles(insn(block), core);
        return cycles;
    }

    // All of it on the core that is done with it first.
    std::optional<Choice> whole(const Unit& unit, const Cycles& so_far) const {
        std::size_t best = no_core;
        std::uint64_t best_ns = std::numeric_limits<std::uint64_t>::max(), best_cycles = 0;
        for (std::size_t core = 0; core < options_.cores.size(); ++core) {
            if (!may_use(core, unit))
                continue;
            const std::uint64_t cycles = cycles_of(unit, core);
            const std::uint64_t ns = ns_on(core, so_far[core] + cycles);
            if (ns < best_ns) {
                best = core;
                best_ns = ns;
                best_cycles = cycles;
            }
        }
        if (best == no_core)
            return std::nullopt;
        Choice choice{{}, {}, Cycles(options_.cores.size())};
        for (const std::size_t block : unit.blocks) {
            choice.schemes.push_back(Scheme::single);
            choice.shares.push_back(single_share(insn(block), best, options_.cores.size()));
        }
        choice.cycles[best] = best_cycles;
        return choice;
    }

    std::vector<Choice> shared(const Unit& unit) const {
        std::vector<Choice> choices;
        for (const Scheme scheme :
             {Scheme::row, Scheme::column, Scheme::grid, Scheme::channel, Scheme::balanced}) {
            if (unit.blocks.size() > 1 ||
                (!options_.schemes.empty() && std::ranges::count(options_.schemes, scheme) == 0))
                continue;
            auto found = layer_shares(options_, insn(unit.blocks[0]), scheme);
            if (!found)
                continue;
            Block block = blocks_[unit.blocks[0]];
            block.shares = *found;
            choices.push_back({{scheme}, {std::move(*found)}, load_of(block).cycles});
        }
        return choices;
    }

    std::pair<std::uint64_t, std::uint64_t> longest_and_sum(const Cycles& so_far,
                                                            const Cycles& more) const {
        std::uint64_t longest = 0, sum = 0;
        for (std::size_t core = 0; core < more.size(); ++core) {
            const std::uint64_t ns = ns_on(core, so_far[core] + more[core]);
            longest = std::max(longest, ns);
            sum += ns;
        }
        return {longest, sum};
    }

    // The longest first, each in the way after which the stage is the shortest.
    std::vector<Choice> choose(const std::vector<std::size_t>& units, bool whole_only,
                               Cycles& all) const {
        std::vector<Choice> chosen(units.size());
        for (std::size_t index = 0; index < units.size(); ++index) {
            const Unit& unit = units_[units[index]];
            std::vector<Choice> choices;
            if (can_be_whole(unit)) {
                if (auto choice = whole(unit, all))
                    choices.push_back(std::move(*choice));
                if (!whole_only)
                    std::ranges::move(shared(unit), std::back_inserter(choices));
            }
            if (choices.empty() || !whole_only)
                choices.push_back(as_it_is(unit));
            chosen[index] = std::move(*std::ranges::min_element(
                choices, {}, [&](const Choice& of) { return longest_and_sum(all, of.cycles); }));
            add(all, chosen[index].cycles);
        }
        return chosen;
    }

    void share_anew(std::vector<std::size_t> units) {
        Cycles now(options_.cores.size());
        std::vector<std::uint64_t> sizes(units_.size());
        for (const std::size_t unit : units) {
            const Choice choice = as_it_is(units_[unit]);
            add(now, choice.cycles);
            // Blocks that stay as they are come before all that can be chosen for.
            sizes[unit] =
                can_be_whole(units_[unit])
                    ? std::accumulate(choice.cycles.begin(), choice.cycles.end(), std::uint64_t{0})
                    : std::numeric_limits<std::uint64_t>::max();
        }
        std::ranges::stable_sort(units, std::ranges::greater(),
                                 [&](std::size_t unit) { return sizes[unit]; });
        std::uint64_t best = stage_ns(options_, now, several_cores);
        std::vector<Choice> chosen;
        for (const bool whole_only : {true, false}) {
            Cycles cycles(options_.cores.size());
            std::vector<Choice> choices = choose(units, whole_only, cycles);
            const std::uint64_t ns = stage_ns(options_, cycles, several_cores);
            if (ns < best) {
                best = ns;
                chosen = std::move(choices);
            }
        }
        for (std::size_t index = 0; index < chosen.size(); ++index)
            for (std::size_t of = 0; of < chosen[index].schemes.size(); ++of) {
                Block& block = blocks_[units_[units[index]].blocks[of]];
                block.scheme = chosen[index].schemes[of];
                block.shares = std::move(chosen[index].shares[of]);
            }
    }

    const SegmentLayers& segment_;
    const SearchOptions& options_;
    const FoundBlocks& found_; // in order
    const ModelPrices model_;
    const CorePrices& prices_;
    const std::vector<std::vector<std::size_t>> needs_; // by block
    std::vector<Block> blocks_;
    std::vector<Unit> units_;
    std::vector<std::vector<std::size_t>> by_stage_; // units
    std::vector<std::size_t> stages_;                // by block
};

} // namespace

void join_stages(const SegmentLayers& segment, const SearchOptions& options, FoundBlocks& found) {
    if (found.ns == no_plan || found.blocks.size() < 2)
        return;
    Joiner joiner(segment, options, found);
    std::optional<FoundBlocks> best;
    for (const UnitsOf what : {UnitsOf::core, UnitsOf::block})
        if (auto joined = joiner.run(what); joined && (!best || joined->ns < best->ns))
            best = std::move(joined);
    if (best)
        found = std::move(*best);
}

} // namespace overtake::compiler
