// SPDX-License-Identifier: MIT
//
// Compares the search for the best blocks with all possible blocks, on layers of random shapes.
// OVERTAKE_TEST_NETWORKS asks for more networks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>

#include "compiler/cores/generate.hpp"
#include "compiler/cores/growth.hpp"
#include "compiler/cores/plan.hpp"
#include "compiler/lower/cost.hpp"
#include "core_checks.hpp"
#include "layer_shapes.hpp"

using namespace overtake::compiler;
using namespace overtake::test;

namespace {

// Convolutions, depthwise and others, and sums, each reading earlier layers.
class RandomLayers {
public:
    explicit RandomLayers(Random& random) : random_(random) {}

    SegmentLayers make(std::size_t count) {
        SegmentLayers segment;
        const overtake_operand input =
            tensor(0, pick(random_, 1, 24), pick(random_, 1, 24), pick(random_, 1, 4) * 8);
        for (std::size_t index = 0; index < count; ++index)
            add(segment, input);
        for (std::size_t index = 0; index < count; ++index) {
            Layer& layer = segment.layers[index];
            layer.can_be_private = !layer.readers.empty() && pick(random_, 0, 9) > 0;
        }
        return segment;
    }

private:
    void add(SegmentLayers& segment, const overtake_operand& input) {
        const std::size_t index = segment.layers.size();
        Layer layer{};
        overtake_insn& insn = layer.step.insn;
        const std::size_t from = index == 0 ? 0 : index - 1;
        const overtake_operand in = index == 0 ? input : segment.layers[from].step.insn.out;
        insn.in[0] = in;
        const auto second = partner(segment, in);
        if (second && pick(random_, 0, 1) == 0)
            sum(segment, layer, *second);
        else
            window(insn);
        insn.out.offset = (index + 1) << 24;
        if (index > 0)
            read(segment, layer, 0, from, index);
        segment.layers.push_back(layer);
    }

    // Returns an earlier layer, except the last, whose output has this shape.
    std::optional<std::size_t> partner(const SegmentLayers& segment, const overtake_operand& in) {
        for (std::size_t index = 0; index + 1 < segment.layers.size(); ++index) {
            const overtake_operand& out = segment.layers[index].step.insn.out;
            if (out.height == in.height && out.width == in.width && out.channels == in.channels)
                return index;
        }
        return std::nullopt;
    }

    void sum(SegmentLayers& segment, Layer& layer, std::size_t other) {
        layer.step.insn.opcode = OVERTAKE_OP_ADD;
        layer.step.insn.in[1] = segment.layers[other].step.insn.out;
        layer.step.insn.out = layer.step.insn.in[0];
        read(segment, layer, 1, other, segment.layers.size());
    }

    void window(overtake_insn& insn) {
        const bool is_depthwise = pick(random_, 0, 2) == 0;
        insn.opcode = is_depthwise ? OVERTAKE_OP_DEPTHWISE : OVERTAKE_OP_CONV;
        insn.groups = 1;
        insn.kernel_height = insn.kernel_width =
            static_cast<std::uint16_t>(pick(random_, 0, 2) * 2 + 1);
        insn.stride_height = insn.stride_width =
            static_cast<std::uint16_t>(pick(random_, 4, 9) / 4);
        insn.dilation_height = insn.dilation_width = 1;
        insn.pad_top = insn.pad_left = static_cast<std::uint16_t>(insn.kernel_height / 2);
        const overtake_operand& in = insn.in[0];
        insn.out = tensor(
            0, (in.height - 1) / insn.stride_height + 1, (in.width - 1) / insn.stride_width + 1,
            is_depthwise || pick(random_, 0, 1) == 0 ? in.channels : pick(random_, 1, 6) * 8);
    }

    void read(SegmentLayers& segment, Layer& layer, std::size_t input, std::size_t from,
              std::size_t reader) {
        layer.writers[input] = {from};
        std::vector<std::size_t>& readers = segment.layers[from].readers;
        if (readers.empty() || readers.back() != reader)
            readers.push_back(reader);
    }

    Random& random_;
};

// ResNet-101 at 224 x 224: bottleneck blocks of a 1x1, a 3x3 and a 1x1 convolution and a sum.
class Bottlenecks {
public:
    SegmentLayers make() {
        window(7, 2, 64);
        window(3, 2, 64, OVERTAKE_OP_MAX_POOL);
        std::uint32_t channels = 64;
        for (const std::size_t blocks : {3, 4, 23, 3}) {
            for (std::size_t block = 0; block < blocks; ++block)
                add_block(channels, block == 0 && channels > 64 ? 2 : 1);
            channels *= 2;
        }
        for (Layer& layer : segment_.layers)
            layer.can_be_private = !layer.readers.empty();
        return std::move(segment_);
    }

private:
    void add_block(std::uint32_t channels, std::uint16_t stride) {
        const std::size_t source = last();
        window(1, 1, channels);
        window(3, stride, channels);
        window(1, 1, 4 * channels);
        std::size_t shortcut = source;
        if (segment_.layers[source].step.insn.out.channels != 4 * channels) {
            const std::size_t expanded = last();
            window(1, stride, 4 * channels, OVERTAKE_OP_CONV, source);
            shortcut = last();
            add(OVERTAKE_OP_ADD, expanded, segment_.layers[expanded].step.insn.out);
        } else {
            add(OVERTAKE_OP_ADD, last(), segment_.layers[last()].step.insn.out);
        }
        segment_.layers.back().step.insn.in[1] = segment_.layers[shortcut].step.insn.out;
        read(1, shortcut);
    }

    std::size_t last() const { return segment_.layers.size() - 1; }

    void window(std::uint16_t kernel, std::uint16_t stride, std::uint32_t channels,
                unsigned opcode = OVERTAKE_OP_CONV, std::optional<std::size_t> source = {}) {
        const overtake_operand in = segment_.layers.empty()
                                        ? tensor(0, 224, 224, 3)
                                        : segment_.layers[source.value_or(last())].step.insn.out;
        const overtake_operand out =
            tensor(0, (in.height - 1) / stride + 1, (in.width - 1) / stride + 1, channels);
        if (segment_.layers.empty())
            segment_.layers.emplace_back();
        else
            add(opcode, source.value_or(last()), out);
        overtake_insn& insn = segment_.layers.back().step.insn;
        insn.opcode = static_cast<std::uint16_t>(opcode);
        insn.groups = 1;
        insn.kernel_height = insn.kernel_width = kernel;
        insn.stride_height = insn.stride_width = stride;
        insn.dilation_height = insn.dilation_width = 1;
        insn.pad_top = insn.pad_left = static_cast<std::uint16_t>(kernel / 2);
        insn.in[0] = in;
        insn.out = out;
        insn.out.offset = segment_.layers.size() << 24;
    }

    void add(unsigned opcode, std::size_t from, const overtake_operand& out) {
        Layer& layer = segment_.layers.emplace_back();
        layer.step.insn.opcode = static_cast<std::uint16_t>(opcode);
        layer.step.insn.in[0] = segment_.layers[from].step.insn.out;
        layer.step.insn.out = out;
        layer.step.insn.out.offset = segment_.layers.size() << 24;
        read(0, from);
    }

    // Makes the last layer read `from`.
    void read(std::size_t input, std::size_t from) {
        segment_.layers.back().writers[input] = {from};
        std::vector<std::size_t>& readers = segment_.layers[from].readers;
        if (readers.empty() || readers.back() != last())
            readers.push_back(last());
    }

    SegmentLayers segment_;
};

// The cycle model's prices, which count how often they are asked for.
class CountingPrices final : public CorePrices {
public:
    explicit CountingPrices(const Cores& cores) : model_(cores, 500) {}
    std::uint64_t cycles(const overtake_insn& insn, std::size_t core) const override {
        ++looks;
        return model_.cycles(insn, core);
    }
    std::uint64_t fc_cycles(std::size_t core) const override { return model_.fc_cycles(core); }
    std::uint64_t meeting_ns(const Meeting& of) const override { return model_.meeting_ns(of); }

    mutable std::size_t looks = 0;

private:
    ModelPrices model_;
};

// Prices in which meetings also cost by cores and bytes.
class MeetingPrices final : public CorePrices {
public:
    explicit MeetingPrices(const Cores& cores) : model_(cores, 0) {}
    std::uint64_t cycles(const overtake_insn& insn, std::size_t core) const override {
        return model_.cycles(insn, core);
    }
    std::uint64_t fc_cycles(std::size_t core) const override { return model_.fc_cycles(core); }
    std::uint64_t meeting_ns(const Meeting& of) const override {
        return of.cores * 20 + of.bytes / 16;
    }

private:
    ModelPrices model_;
};

// By core: a stage's cycles without overhead.
using Cycles = std::vector<std::uint64_t>;

struct Stage {
    Cycles cycles;
    std::size_t only; // the core, or no_core
};

// Returns the time alone: the longest part of each stage, and the sync before it unless
// only this part was busy in the stage before.
std::uint64_t time_alone(const std::vector<Stage>& stages, const Cores& cores, std::uint64_t sync) {
    std::uint64_t all = 0;
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        std::uint64_t longest = 0;
        for (std::size_t core = 0; core < cores.size(); ++core) {
            if (stages[stage].cycles[core] == 0)
                continue;
            std::uint64_t ns = (stages[stage].cycles[core] + cores[core]->fc_overhead_cycles) *
                               1000000 / cores[core]->clock_khz;
            if (stage > 0 && stages[stage - 1].only != core)
                ns += sync * 1000000 / cores[0]->clock_khz;
            longest = std::max(longest, ns);
        }
        all += longest;
    }
    return all;
}

// Every way to cut layers into blocks, each with every scheme.
class Exhaustive {
public:
    Exhaustive(const SegmentLayers& segment, const SearchOptions& options, const Cores& cores)
        : segment_(segment), options_(options), cores_(cores) {}

    std::uint64_t run() {
        go_on(0, {});
        return best_;
    }
    std::size_t plans() const { return plans_; }

private:
    void go_on(std::size_t first, const std::vector<Stage>& stages) {
        if (first == segment_.layers.size()) {
            ++plans_;
            best_ = std::min(best_, time_alone(stages, cores_, options_.sync_cycles));
            return;
        }
        for (std::size_t core = 0; core < cores_.size(); ++core) {
            Cycles cycles(cores_.size());
            cycles[core] = cost(segment_.layers[first].step.insn, *cores_[core]);
            append(stages, cycles, core, first + 1);
        }
        for (std::size_t count = 1; first + count <= segment_.layers.size(); ++count) {
            if (!can_be_block(segment_, first, count) || (count > 1 && !options_.overlap))
                continue;
            for (const Scheme scheme : options_.schemes)
                with_block(first, count, scheme, stages);
        }
    }

    void with_block(std::size_t first, std::size_t count, Scheme scheme,
                    const std::vector<Stage>& stages) {
        const auto shares =
            layer_shares(options_, segment_.layers[first + count - 1].step.insn, scheme);
        if (!shares)
            return;
        const std::vector<Shares> boxes = grow(segment_, first, count, *shares);
        Cycles cycles(cores_.size());
        for (std::size_t layer = 0; layer < count; ++layer)
            for (std::size_t core = 0; core < cores_.size(); ++core)
                for (const Box& box : boxes[layer][core])
                    cycles[core] +=
                        piece_cost(segment_.layers[first + layer].step.insn, box, *cores_[core]);
        append(stages, cycles, no_core, first + count);
    }

    void append(std::vector<Stage> stages, const Cycles& cycles, std::size_t only,
                std::size_t next) {
        if (only != no_core && !stages.empty() && stages.back().only == only)
            stages.back().cycles[only] += cycles[only];
        else
            stages.push_back({cycles, only});
        go_on(next, stages);
    }

    const SegmentLayers& segment_;
    const SearchOptions& options_;
    const Cores& cores_;
    std::uint64_t best_ = std::numeric_limits<std::uint64_t>::max();
    std::size_t plans_ = 0;
};

std::size_t network_count() {
    const char* text = std::getenv("OVERTAKE_TEST_NETWORKS");
    return text ? static_cast<std::size_t>(std::atol(text)) : 150;
}

Cores random_cores(Random& random, std::size_t count, std::uint64_t sync_cycles) {
    const auto first = core_of(1, sync_cycles), slow = core_of(2 * pick(random, 1, 2), sync_cycles);
    Cores cores{first};
    while (cores.size() < count)
        cores.push_back(pick(random, 0, 2) == 0 ? slow : first);
    return cores;
}

std::vector<Scheme> two_schemes(Random& random) {
    const std::uint32_t first = pick(random, 0, 4);
    return {cutting[first], cutting[(first + pick(random, 1, 4)) % 5]};
}

} // namespace

TEST(CoreSearch, FindsWhatTryingAllFinds) {
    Random random(37);
    std::size_t plans = 0, fused = 0, shared = 0;
    const std::size_t networks = network_count();
    for (std::size_t round = 0; round < networks; ++round) {
        SCOPED_TRACE("network " + std::to_string(round));
        const SegmentLayers segment = RandomLayers(random).make(pick(random, 1, 6));
        constexpr std::uint64_t syncs[] = {0, 500, 5000};
        const std::uint64_t sync = syncs[pick(random, 0, 2)];
        const Cores cores = random_cores(random, pick(random, 2, 3), sync);
        const SearchOptions options{cores, {}, sync, two_schemes(random), pick(random, 0, 3) > 0};
        const FoundBlocks found = search(segment, options);
        Exhaustive all(segment, options, cores);
        ASSERT_EQ(found.ns, all.run());
        plans += all.plans();
        for (const Block& block : found.blocks) {
            fused += block.layer_count > 1;
            shared += block.scheme != Scheme::single;
        }
    }
    EXPECT_GT(plans, networks * 20);
    EXPECT_GT(fused, networks / 10);
    EXPECT_GT(shared, networks / 3);
}

// A core that was alone does not wait for the next stage: it has to be the core with most to do.
TEST(CoreSearch, OfAlikeCoresTheOneWithTheLargestShareRunsWhatIsInFront) {
    Random random(613);
    std::size_t others = 0;
    for (int round = 0; round < 1000; ++round) {
        SCOPED_TRACE("network " + std::to_string(round));
        const SegmentLayers segment = RandomLayers(random).make(pick(random, 2, 3));
        const Cores cores(3, core_of(1, 500));
        const SearchOptions options{cores, {}, 500, two_schemes(random)};
        const FoundBlocks found = search(segment, options);
        ASSERT_EQ(found.ns, Exhaustive(segment, options, cores).run());
        others += only_core(found.blocks[0]) != no_core && only_core(found.blocks[0]) != 0;
    }
    EXPECT_GT(others, 0u);
}

// For 1 to 8 cores: looks at each layer for the speeds, for each round of balancing, and for each
// block and scheme that it is part of.
TEST(CoreSearch, LooksAtADeepNetworkAsOftenAsItHasLayersSchemesAndBlocks) {
    const SegmentLayers segment = Bottlenecks().make();
    ASSERT_EQ(segment.layers.size(), 2 + 33 * 4 + 4u);
    const Cores cores(8, core_of(1, 500));
    const CountingPrices prices(cores);
    SearchOptions options{cores, {}, 500};
    options.prices = &prices;
    const FoundPlan plan = find_plan(std::vector{segment}, options);
    EXPECT_EQ(plan.core_count, 8u);
    EXPECT_LT(plan.ns * 6, plan.by_cores[0]);
    EXPECT_LE(prices.looks, 400'000u);
}

TEST(CoreSearch, AStageTakesOverheadAndASyncWhereACoreWaitsForOthers) {
    const Cores cores(2, core_of(1, 500));
    SearchOptions options{cores, {}, 500};
    const auto ns = [&](const Cycles& cycles, std::size_t before) {
        return stage_ns(options, cycles, before);
    };
    const std::uint64_t overhead = cores[0]->fc_overhead_cycles;
    EXPECT_EQ(ns({900, 300}, no_stage_before), 900 + overhead);
    EXPECT_EQ(ns({900, 300}, several_cores), 900 + overhead + 500);
    EXPECT_EQ(ns({900, 300}, 0), 900 + overhead) << "the core that was alone does not wait";
    EXPECT_EQ(ns({700, 300}, 0), 300 + overhead + 500);
    EXPECT_EQ(ns({0, 900}, 0), 900 + overhead + 500);
    EXPECT_EQ(ns({0, 900}, 1), 900u) << "more of the same stage";
    // FCs of 3 us and the overhead.
    options.max_time_per_fc_us = static_cast<std::uint32_t>(3 + overhead / 1000);
    ASSERT_EQ(overhead % 1000, 0u);
    EXPECT_EQ(ns({6000, 0}, no_stage_before), 6000 + 2 * overhead);
    EXPECT_EQ(ns({6001, 0}, no_stage_before), 6001 + 3 * overhead);
}

TEST(CoreSearch, SharesAreInProportionToWhatTheLayerTakesOnEachCore) {
    const Cores cores{core_of(1, 0), core_of(3, 0), core_of(1, 0)};
    SearchOptions options{cores, {true, true, false}};
    const Shares rows = layer_shares(options, convolution(40, 40), Scheme::row).value();
    EXPECT_EQ(rows[0].at(0).rows, 30u);
    EXPECT_EQ(rows[1].at(0).rows, 10u);
    EXPECT_TRUE(rows[2].empty());
    const Shares single = layer_shares(options, convolution(40, 40), Scheme::single).value();
    EXPECT_EQ(single[0].size(), 1u);
}

TEST(CoreSearch, CountsMeetingsByTheCoresThatMeetAndTheBytesThatTheyRead) {
    Random random(13);
    std::size_t meetings = 0;
    for (int round = 0; round < 200; ++round) {
        const SegmentLayers segment = RandomLayers(random).make(pick(random, 2, 12));
        const Cores cores(3, core_of(1, 0));
        const MeetingPrices prices(cores);
        SearchOptions options{cores};
        options.prices = &prices;
        EXPECT_EQ(stage_ns(options, Cycles{900, 300, 0}, several_cores, 160),
                  900 + cores[0]->fc_overhead_cycles + 2 * 20 + 160 / 16);
        const FoundBlocks found = search(segment, options);
        std::uint64_t ns = 0;
        std::size_t before = no_stage_before;
        for (const Block& block : found.blocks) {
            Growth growth(segment, block.first_layer + block.layer_count - 1, block.shares,
                          &prices);
            while (growth.first() > block.first_layer && growth.take_in())
                ;
            std::uint64_t bytes = 0;
            for (const std::vector<Box>& boxes : growth.boxes(growth.first()))
                for (const Box& box : boxes)
                    for (const overtake_operand& in :
                         piece_shape(segment.layers[growth.first()].step.insn, box).in)
                        bytes += std::uint64_t{in.height} * in.width * in.channels;
            ns += stage_ns(options, growth.cycles(), before, bytes);
            const std::size_t only = only_core(block);
            meetings += before != no_stage_before && before != only;
            before = only == no_core ? several_cores : only;
        }
        EXPECT_EQ(found.ns, ns) << "network " << round;
    }
    EXPECT_GT(meetings, 10u);
}

TEST(CoreSearch, CoversAllLayersInOrderWithSharesOfAllOutputs) {
    Random random(5);
    for (int round = 0; round < 40; ++round) {
        const SegmentLayers segment = RandomLayers(random).make(pick(random, 1, 30));
        const Cores cores = random_cores(random, pick(random, 2, 8), 500);
        const FoundBlocks found = search(segment, {cores, {}, 500});
        std::size_t next = 0;
        for (const Block& block : found.blocks) {
            ASSERT_EQ(block.first_layer, next);
            next += block.layer_count;
            std::uint64_t all = 0;
            for (const std::vector<Box>& boxes : block.shares)
                for (const Box& box : boxes)
                    all += elements(box);
            EXPECT_EQ(all, elements(whole(segment.layers[next - 1].step.insn)));
            EXPECT_TRUE(can_be_block(segment, block.first_layer, block.layer_count));
        }
        EXPECT_EQ(next, segment.layers.size());
    }
}

TEST(CoreSearch, NoChoiceMakesItSlower) {
    Random random(11);
    for (int round = 0; round < 40; ++round) {
        const SegmentLayers segment = RandomLayers(random).make(pick(random, 1, 20));
        const Cores cores = random_cores(random, pick(random, 2, 6), 500);
        const SearchOptions all{cores, {}, 500};
        const std::uint64_t ns = search(segment, all).ns;
        for (const Scheme scheme : cutting)
            EXPECT_LE(ns, search(segment, {cores, {}, 500, {scheme}}).ns);
        EXPECT_LE(ns, search(segment, {cores, {}, 500, {}, false}).ns);
    }
}

TEST(CoreSearch, UsesOnlyCoresThatItMay) {
    Random random(7);
    const Cores cores(4, core_of(1, 0));
    for (int round = 0; round < 20; ++round) {
        const SegmentLayers segment = RandomLayers(random).make(8);
        for (const Block& block : search(segment, {cores, {true, false, true, false}}).blocks) {
            EXPECT_TRUE(block.shares[1].empty());
            EXPECT_TRUE(block.shares[3].empty());
        }
    }
}

TEST(CoreSearch, LeavesALayerToNoFasterCoreThatItMayNotUse) {
    SegmentLayers segment;
    segment.layers.emplace_back().step.insn = convolution(8, 8);
    const Cores cores{core_of(4, 0), core_of(1, 0)};
    const FoundBlocks found = search(segment, {cores, {true, false}});
    ASSERT_EQ(found.blocks.size(), 1u);
    EXPECT_FALSE(found.blocks[0].shares[0].empty());
    EXPECT_TRUE(found.blocks[0].shares[1].empty());
}

TEST(CoreSearch, WorkStaysWithCoresThatHaveTheInstruction) {
    auto without = std::make_shared<ovt_profile>(*ovt_profile_find("default"));
    without->without = std::uint64_t{1} << OVERTAKE_OP_CONV;
    const auto full = core_of(1, 0);
    Random random(9);
    for (int round = 0; round < 30; ++round) {
        const SegmentLayers segment = RandomLayers(random).make(8);
        const Cores cores{without, full, full};
        for (const Block& block : search(segment, {cores}).blocks) {
            const auto boxes = grow(segment, block.first_layer, block.layer_count, block.shares);
            for (std::size_t layer = 0; layer < block.layer_count; ++layer)
                EXPECT_TRUE(boxes[layer][0].empty() ||
                            segment.layers[block.first_layer + layer].step.insn.opcode !=
                                OVERTAKE_OP_CONV);
        }
    }
}

TEST(CoreCounts, TakeMoreCoresWhereTheyGainTwoPercent) {
    SegmentLayers segment;
    segment.layers.emplace_back().step.insn = convolution(64, 64);
    const std::vector<SegmentLayers> large{segment};
    const Cores cores(6, core_of(1, 0));
    const FoundPlan plan = find_plan(large, {cores});
    ASSERT_EQ(plan.by_cores.size(), 6u);
    EXPECT_EQ(plan.core_count, 6u);
    EXPECT_EQ(plan.ns, plan.by_cores.back());
    EXPECT_GT(plan.by_cores[0], 5 * plan.by_cores[5]);

    // Two layers with so little work that waiting for others takes longer.
    segment.layers[0].step.insn = convolution(1, 1);
    segment.layers[0].step.insn.out.channels = segment.layers[0].step.insn.in[0].channels = 8;
    segment.layers.push_back(segment.layers[0]);
    segment.layers[0].readers = {1};
    segment.layers[1].writers[0] = {0};
    const FoundPlan small = find_plan(std::vector{segment}, {cores, {}, 500});
    EXPECT_EQ(small.core_count, 1u);
    EXPECT_EQ(small.ns, small.by_cores[0]);
}

TEST(CoreCounts, TakeTheFastestCoresFirst) {
    SegmentLayers segment;
    segment.layers.emplace_back().step.insn = convolution(64, 64);
    const Cores cores{core_of(8, 0), core_of(1, 0), core_of(1, 0)};
    const FoundPlan plan = find_plan(std::vector{segment}, {cores});
    const auto& shares = plan.blocks[0][0].shares;
    EXPECT_LT(plan.by_cores[0],
              ovt_cycles_to_ns(cores[0].get(), cost(convolution(64, 64), *cores[0])));
    EXPECT_FALSE(shares[1].empty());
    EXPECT_FALSE(shares[2].empty());
}
