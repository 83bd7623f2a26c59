// SPDX-License-Identifier: MIT
#include "compiler/cores/search.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "compiler/cores/blocks.hpp"
#include "compiler/cores/growth.hpp"

namespace overtake::compiler {
namespace {

constexpr Scheme cutting[] = {Scheme::row, Scheme::column, Scheme::grid, Scheme::channel,
                              Scheme::balanced};

bool may_use(const SearchOptions& options, std::size_t core) {
    return options.uses.empty() || options.uses[core];
}

std::vector<double> speeds_of(const SearchOptions& options, const CorePrices& prices,
                              const overtake_insn& insn) {
    std::vector<double> result;
    for (std::size_t core = 0; core < options.cores.size(); ++core) {
        const ovt_profile& profile = *options.cores[core];
        result.push_back(!may_use(options, core) || ovt_profile_lacks(&profile, insn.opcode)
                             ? 0
                             : static_cast<double>(profile.clock_khz) /
                                   static_cast<double>(prices.cycles(insn, core)));
    }
    return result;
}

// Adds the overhead of the FCs that the cycles are split into.
std::uint64_t with_overhead(const SearchOptions& options, const CorePrices& prices,
                            std::uint64_t cycles, std::size_t core) {
    const std::uint64_t most =
        std::uint64_t{options.max_time_per_fc_us} * options.cores[core]->clock_khz / 1000;
    const std::uint64_t overhead = prices.fc_cycles(core);
    const std::uint64_t fcs =
        most > overhead ? (cycles + most - overhead - 1) / (most - overhead) : 1;
    return cycles + std::max<std::uint64_t>(fcs, 1) * overhead;
}

std::uint64_t stage_ns_at(const SearchOptions& options, const CorePrices& prices,
                          std::span<const std::uint64_t> cycles, std::size_t before,
                          std::uint64_t bytes_read) {
    const auto busy =
        static_cast<std::size_t>(std::ranges::count_if(cycles, [](auto of) { return of > 0; }));
    const std::uint64_t sync = prices.meeting_ns({busy, bytes_read});
    std::uint64_t longest = 0;
    for (std::size_t core = 0; core < cycles.size(); ++core) {
        if (cycles[core] == 0)
            continue;
        const ovt_profile* profile = options.cores[core].get();
        if (busy == 1 && core == before) // it continues the same stage
            return ovt_cycles_to_ns(profile, cycles[core]);
        const bool waits = before != no_stage_before && before != core;
        longest = std::max(
            longest, ovt_cycles_to_ns(profile, with_overhead(options, prices, cycles[core], core)) +
                         (waits ? sync : 0));
    }
    return longest;
}

std::optional<Shares> shares_at(const SearchOptions& options, const CorePrices& prices,
                                const overtake_insn& insn, Scheme scheme) {
    const std::vector<double> speeds = speeds_of(options, prices, insn);
    if (scheme != Scheme::balanced)
        return shares(insn, scheme, speeds);
    return balance(insn, speeds,
                   options.share_price ? *options.share_price : share_price(prices, options.cores),
                   options.balance);
}

// One more meeting in so many layers costs next to nothing.  Without this limit the time of the
// search would grow with the square of the number of layers if these are pointwise, since then no
// halo ends a block.
constexpr std::size_t longest_block = 64;

// The best plan of all layers up to one of them, whose last block ends there in one way.
struct Best {
    std::uint64_t ns = no_plan;
    std::size_t first_layer = 0; // of the last block
    std::size_t before = 0;      // the way in which the plan before it ends
    std::size_t before_core = 0; // if that plan ends on one core
};

class Search {
public:
    Search(const SegmentLayers& segment, const SearchOptions& options)
        : segment_(segment), options_(options), model_(options.cores, options.sync_cycles),
          prices_(options.prices ? *options.prices : model_) {
        for (const Scheme scheme : cutting)
            if (options.schemes.empty() || std::ranges::count(options.schemes, scheme) > 0)
                schemes_.push_back(scheme);
        for (std::size_t core = 0; core < options.cores.size(); ++core)
            if (may_use(options, core)) {
                if (is_first_of_its_kind(core))
                    singles_.push_back(core);
                kind_of_.push_back(kind(core));
            } else {
                kind_of_.push_back(singles_.size());
            }
    }

    FoundBlocks run() {
        for (std::size_t layer = 0; layer < segment_.layers.size(); ++layer) {
            best_.emplace_back(schemes_.size() + singles_.size());
            for (std::size_t index = 0; index < singles_.size(); ++index)
                end_on_one_core(layer, index);
            shares_.emplace_back(schemes_.size());
            for (std::size_t index = 0; index < schemes_.size(); ++index)
                end_on_several(layer, index);
            if (options_.progress)
                options_.progress(static_cast<double>(layer + 1) /
                                  static_cast<double>(segment_.layers.size()));
        }
        return collect();
    }

private:
    // Layers that run on one of several like cores take the same time on each: a change of cores
    // would only cost.  The choice among these cores matters only to the next stage.
    bool is_first_of_its_kind(std::size_t core) const {
        return std::ranges::none_of(singles_, [&](std::size_t other) {
            return options_.cores[other] == options_.cores[core];
        });
    }

    std::size_t kind(std::size_t core) const {
        return static_cast<std::size_t>(std::ranges::find_if(singles_,
                                                             [&](std::size_t other) {
                                                                 return options_.cores[other] ==
                                                                        options_.cores[core];
                                                             }) -
                                        singles_.begin());
    }

    // Returns, by kind, the core that would best run the layers before a stage with these cycles,
    // as it need not wait: the core with the most cycles.
    std::vector<std::size_t> best_before(std::span<const std::uint64_t> cycles) const {
        std::vector<std::size_t> best = singles_;
        for (std::size_t core = 0; core < cycles.size(); ++core)
            if (may_use(options_, core) && cycles[core] > cycles[best[kind_of_[core]]])
                best[kind_of_[core]] = core;
        return best;
    }

    const overtake_insn& insn(std::size_t layer) const { return segment_.layers[layer].step.insn; }

    bool is_single(std::size_t end) const { return end >= schemes_.size(); }

    std::uint64_t time_of(std::span<const std::uint64_t> cycles, std::size_t before,
                          std::uint64_t bytes_read) const {
        return stage_ns_at(options_, prices_, cycles, before, bytes_read);
    }

    // Compares the best plan so far, of the layers up to `last` with the end `end`, with plans
    // whose last block begins at `first`.
    void offer(std::size_t first, std::size_t last, std::size_t end,
               std::span<const std::uint64_t> cycles, std::uint64_t bytes_read) {
        Best& best = best_[last][end];
        if (first == 0) {
            const std::uint64_t ns = time_of(cycles, no_stage_before, bytes_read);
            if (ns < best.ns)
                best = {ns, 0, 0, no_stage_before};
            return;
        }
        const std::vector<std::size_t> cores = best_before(cycles);
        // For the next block, plans that end on several cores differ in their time alone.
        std::size_t several = best_[first - 1].size();
        for (std::size_t before = 0; before < best_[first - 1].size(); ++before) {
            if (is_single(before))
                weigh(best, first, before, cores[before - schemes_.size()], cycles, bytes_read);
            else if (several == best_[first - 1].size() ||
                     best_[first - 1][before].ns < best_[first - 1][several].ns)
                several = before;
        }
        if (several < best_[first - 1].size())
            weigh(best, first, several, several_cores, cycles, bytes_read);
    }

    void weigh(Best& best, std::size_t first, std::size_t before, std::size_t before_core,
               std::span<const std::uint64_t> cycles, std::uint64_t bytes_read) const {
        const std::uint64_t until = best_[first - 1][before].ns;
        if (until >= best.ns) // also true if there is none
            return;
        const std::uint64_t ns = until + time_of(cycles, before_core, bytes_read);
        if (ns < best.ns)
            best = {ns, first, before, before_core};
    }

    void end_on_one_core(std::size_t layer, std::size_t index) {
        const std::size_t core = singles_[index];
        if (ovt_profile_lacks(options_.cores[core].get(), insn(layer).opcode))
            return;
        const Growth growth(segment_, layer, single_share(insn(layer), core, options_.cores.size()),
                            &prices_);
        offer(layer, layer, schemes_.size() + index, growth.cycles(), growth.bytes_read());
    }

    void end_on_several(std::size_t last, std::size_t index) {
        auto& shares = shares_[last][index];
        shares = shares_at(options_, prices_, insn(last), schemes_[index]);
        if (!shares)
            return;
        Growth growth(segment_, last, *shares, &prices_);
        do {
            offer(growth.first(), last, index, growth.cycles(), growth.bytes_read());
            // A block with more layers takes no less time.
            if (time_of(growth.cycles(), no_stage_before, 0) >= best_[last][index].ns)
                return;
        } while (options_.overlap && last - growth.first() + 1 < longest_block &&
                 growth.take_in() && all_can_run(growth));
    }

    // Whether cores with a share of the block have the instructions of the layer that was taken in.
    bool all_can_run(const Growth& growth) const {
        const Shares& boxes = growth.boxes(growth.first());
        for (std::size_t core = 0; core < boxes.size(); ++core)
            if (!boxes[core].empty() &&
                ovt_profile_lacks(options_.cores[core].get(), insn(growth.first()).opcode))
                return false;
        return true;
    }

    FoundBlocks collect() {
        FoundBlocks found;
        std::size_t last = best_.size();
        if (last == 0)
            return found;
        std::size_t end = static_cast<std::size_t>(
            std::ranges::min_element(best_.back(), {}, &Best::ns) - best_.back().begin());
        found.ns = best_.back()[end].ns;
        if (found.ns == no_plan)
            return found;
        std::size_t core = is_single(end) ? singles_[end - schemes_.size()] : several_cores;
        while (last > 0) {
            const Best& best = best_[last - 1][end];
            found.blocks.push_back({best.first_layer, last - best.first_layer,
                                    is_single(end) ? Scheme::single : schemes_[end],
                                    is_single(end)
                                        ? single_share(insn(last - 1), core, options_.cores.size())
                                        : std::move(*shares_[last - 1][end])});
            last = best.first_layer;
            if (!is_single(end) || best.before != end) // else the core stays the same
                core = best.before_core;
            end = best.before;
        }
        std::ranges::reverse(found.blocks);
        found.stages = stages_in_order(found.blocks);
        return found;
    }

    const SegmentLayers& segment_;
    const SearchOptions& options_;
    const ModelPrices model_;
    const CorePrices& prices_;
    std::vector<Scheme> schemes_;
    std::vector<std::size_t> singles_;                       // the first core of each kind
    std::vector<std::size_t> kind_of_;                       // by core: its place in singles_
    std::vector<std::vector<Best>> best_;                    // by layer, by scheme, then core
    std::vector<std::vector<std::optional<Shares>>> shares_; // by layer, by scheme
};

} // namespace

std::uint64_t stage_ns(const SearchOptions& options, std::span<const std::uint64_t> cycles,
                       std::size_t before, std::uint64_t bytes_read) {
    const ModelPrices model(options.cores, options.sync_cycles);
    return stage_ns_at(options, options.prices ? *options.prices : model, cycles, before,
                       bytes_read);
}

std::optional<Shares> layer_shares(const SearchOptions& options, const overtake_insn& insn,
                                   Scheme scheme) {
    const ModelPrices model(options.cores, options.sync_cycles);
    return shares_at(options, options.prices ? *options.prices : model, insn, scheme);
}

FoundBlocks search(const SegmentLayers& segment, const SearchOptions& options) {
    return Search(segment, options).run();
}

} // namespace overtake::compiler
