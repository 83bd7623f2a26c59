// SPDX-License-Identifier: MIT
//
// Blocks of layers that do not need each other share a stage: which blocks, the time and memory
// that it takes, and that every bit stays.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/cores/plan.hpp"
#include "compiler/cores/stages.hpp"
#include "compiler/cores/verify_blocks.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/lower/lower.hpp"
#include "convolution_chain.hpp"
#include "core_checks.hpp"

using namespace overtake::compiler;
using namespace overtake::test;

namespace {

using Cores = std::vector<std::shared_ptr<const ovt_profile>>;

Cores alike_cores(std::size_t count, std::uint64_t speed = 1) {
    auto profile = std::make_shared<ovt_profile>(usual());
    profile->clock_khz *= static_cast<std::uint32_t>(speed);
    return Cores(count, profile);
}

// A network that grows node by node; all values have one shape.
class NetworkBuilder {
public:
    NetworkBuilder(std::uint32_t size, std::uint32_t channels) : graph_(chain(size, channels, 1)) {
        convolution_ = graph_.nodes[0];
        graph_.nodes.clear();
        graph_.values.resize(1);
    }

    std::size_t convolution(std::size_t input) {
        Node node = convolution_;
        node.inputs = {input};
        return add(std::move(node));
    }

    std::size_t sum(std::size_t a, std::size_t b) {
        Node node;
        node.onnx_type = "Add";
        node.operation = op::Pair{};
        node.inputs = {a, b};
        return add(std::move(node), a);
    }

    // Adds their sum.
    std::size_t sum_of(const std::vector<std::size_t>& values) {
        std::size_t all = values[0];
        for (std::size_t index = 1; index < values.size(); ++index)
            all = sum(all, values[index]);
        return all;
    }

    std::size_t concatenation(const std::vector<std::size_t>& values) {
        Node node;
        node.onnx_type = "Concat";
        node.operation = op::Concat{};
        node.inputs = values;
        const std::size_t all = add(std::move(node));
        Value& value = graph_.values[all];
        value.channels *= static_cast<std::uint32_t>(values.size());
        value.shape[1] = value.channels;
        return all;
    }

    CoreNetwork network(std::vector<std::size_t> outputs) {
        graph_.outputs = std::move(outputs);
        return layered_network(graph_, std::vector<Range>(graph_.values.size(), {-1, 1}));
    }

    std::size_t values() const { return graph_.values.size(); }

private:
    // Adds a node whose output is like another value.
    std::size_t add(Node node, std::size_t like = 0) {
        node.output = graph_.values.size();
        node.name = std::to_string(node.output);
        graph_.values.push_back(Value(graph_.values[like]));
        graph_.values.back().name = node.name;
        graph_.nodes.push_back(std::move(node));
        return graph_.nodes.back().output;
    }

    Graph graph_;
    Node convolution_;
};

// Returns a network of so many chains of `depth` convolutions of the input.  Their outputs are
// concatenated, so no core can keep one for itself.
CoreNetwork branches(std::size_t count, std::size_t depth, std::uint32_t size = 8,
                     std::uint32_t channels = 16) {
    NetworkBuilder builder(size, channels);
    std::vector<std::size_t> ends(count, 0);
    for (std::size_t step = 0; step < depth; ++step)
        for (std::size_t& end : ends)
            end = builder.convolution(end);
    return builder.network({builder.concatenation(ends)});
}

// Returns the sum of so many convolutions of the input.
CoreNetwork sums(std::size_t count) {
    NetworkBuilder builder(8, 16);
    std::vector<std::size_t> ends;
    while (ends.size() < count)
        ends.push_back(builder.convolution(0));
    return builder.network({builder.sum_of(ends)});
}

CoreNetwork network_of_chain(std::size_t length) {
    const Graph graph = chain(20, 32, length);
    return layered_network(graph, std::vector<Range>(graph.values.size(), {-1, 1}));
}

// Returns a network in which each node reads any earlier values; values that no node reads are
// outputs.
CoreNetwork random_network(Random& random) {
    NetworkBuilder builder(pick(random, 4, 20), 8 * pick(random, 1, 4));
    std::set<std::size_t> unread;
    for (std::uint32_t left = pick(random, 3, 25); left > 0; --left) {
        const auto earlier = [&] {
            return pick(random, 0, static_cast<std::uint32_t>(builder.values()) - 1);
        };
        const std::size_t a = earlier(), b = earlier();
        const bool adds = a != b && pick(random, 0, 2) == 0;
        unread.erase(a);
        if (adds)
            unread.erase(b);
        unread.insert(adds ? builder.sum(a, b) : builder.convolution(a));
    }
    // A job has few regions.
    std::vector<std::size_t> outputs(unread.begin(), unread.end());
    if (outputs.size() > 3 && pick(random, 0, 1) == 0)
        outputs = {builder.sum_of(outputs)};
    if (outputs.size() > 3) { // the others go to scratch memory
        const std::size_t all = builder.concatenation(outputs);
        outputs = {builder.sum(all, all)};
    }
    return builder.network(outputs);
}

SearchOptions options_for(const Cores& cores, std::uint64_t sync = 500) {
    return {cores, {}, sync};
}

std::uint64_t ns_in_order(const CoreNetwork& of, const SearchOptions& options) {
    return search(of.segments.at(0), options).ns;
}

CorePlan made(CoreNetwork& of, const SearchOptions& options, const FoundPlan& plan) {
    return generate(of.graph, of.program, of.segments,
                    {{options.cores.begin(), options.cores.end()}, options.sync_cycles, 0},
                    plan.blocks, plan.stages);
}

// Returns the greatest number of blocks in one stage.
std::size_t widest(const FoundPlan& plan) {
    std::size_t most = 0;
    for (const std::size_t stage : plan.stages.at(0))
        most = std::max<std::size_t>(
            most, static_cast<std::size_t>(std::ranges::count(plan.stages[0], stage)));
    return most;
}

std::string refusal_of_stages(const CoreNetwork& of, const std::vector<Block>& blocks,
                              const std::vector<std::size_t>& stages) {
    try {
        verify_blocks(of.graph, of.segments.at(0), blocks, stages, 2);
    } catch (const CompileError& error) {
        return error.what();
    }
    return "none";
}

std::vector<Block> single_blocks(const CoreNetwork& of, const std::vector<std::size_t>& cores) {
    std::vector<Block> blocks;
    for (std::size_t layer = 0; layer < of.segments.at(0).layers.size(); ++layer)
        blocks.push_back({layer, 1, Scheme::single,
                          single_share(of.segments[0].layers[layer].step.insn,
                                       cores.at(layer % cores.size()), 2)});
    return blocks;
}

} // namespace

TEST(JoinedStages, ConvolutionsOfOneInputMeetOnce) {
    CoreNetwork of = branches(24, 1);
    const Cores cores = alike_cores(8);
    const SearchOptions options = options_for(cores);
    const FoundPlan plan = find_plan(of.segments, options);
    const std::vector<std::size_t>& stages = plan.stages.at(0);
    EXPECT_EQ(std::ranges::count(stages, std::size_t{0}), 24);
    EXPECT_LT(plan.ns, ns_in_order(of, options) / 2);
    EXPECT_EQ(made(of, options, plan).segments.at(0).ns, plan.ns);
}

TEST(JoinedStages, ChainsThatDoNotNeedEachOtherRunSideBySide) {
    const CoreNetwork of = branches(4, 6);
    const Cores cores = alike_cores(4);
    const SearchOptions options = options_for(cores, 50'000);
    const FoundPlan plan = find_plan(of.segments, options);
    // Meetings cost so much that each core takes one whole chain.
    std::set<std::size_t> used;
    for (std::size_t block = 0; block < plan.blocks.at(0).size(); ++block)
        if (plan.stages[0][block] == 0)
            used.insert(only_core(plan.blocks[0][block]));
    EXPECT_EQ(used, (std::set<std::size_t>{0, 1, 2, 3}));
    EXPECT_LT(plan.ns, ns_in_order(of, options));
}

TEST(JoinedStages, AChainStaysAsItIs) {
    const CoreNetwork of = network_of_chain(12);
    const Cores cores = alike_cores(4);
    const FoundPlan plan = find_plan(of.segments, options_for(cores));
    const FoundBlocks found = search(of.segments[0], options_for(cores));
    EXPECT_LE(plan.ns, found.ns);
    EXPECT_LE(found.ns, plan.ns + 12);
    EXPECT_EQ(plan.stages.at(0), found.stages);
    EXPECT_EQ(found.stages, stages_in_order(found.blocks));
}

TEST(JoinedStages, RandomNetworksHaveTheSameBitsTheTimeThatWasFoundAndNeverMoreOfIt) {
    Random random(12);
    std::size_t joined = 0;
    for (int round = 0; round < 100; ++round) {
        SCOPED_TRACE("network " + std::to_string(round));
        CoreNetwork of = random_network(random);
        Cores cores = alike_cores(pick(random, 2, 6));
        if (round % 3 == 0)
            cores.back() = alike_cores(1, 2)[0];
        const SearchOptions options = options_for(cores, round % 2 == 0 ? 500 : 5000);
        const FoundPlan plan = find_plan(of.segments, options);
        EXPECT_LE(plan.by_cores.back(), ns_in_order(of, options));
        const CorePlan core_plan = made(of, options, plan);
        // The search rounds layers that one core runs in a row to nanoseconds one by one.
        EXPECT_LE(core_plan.segments.at(0).ns, plan.ns);
        EXPECT_LE(plan.ns, core_plan.segments[0].ns + of.segments[0].layers.size());
        EXPECT_EQ(core_plan.layers.size(), of.segments[0].layers.size());
        EXPECT_EQ(compare_plan(random, of, core_plan), "");
        joined += plan.stages[0] != stages_in_order(plan.blocks[0]);
    }
    EXPECT_GT(joined, 12u);
}

// Prices where a meeting costs one nanosecond for each byte that the stage reads.
class BytePrices final : public CorePrices {
public:
    explicit BytePrices(const Cores& cores) : model_(cores, 0) {}
    std::uint64_t cycles(const overtake_insn& insn, std::size_t core) const override {
        return model_.cycles(insn, core);
    }
    std::uint64_t fc_cycles(std::size_t core) const override { return model_.fc_cycles(core); }
    std::uint64_t meeting_ns(const Meeting& meeting) const override { return meeting.bytes; }

private:
    ModelPrices model_;
};

TEST(JoinedStages, CountBytesThatAllLayersOfAStageRead) {
    Random random(3);
    std::size_t joined = 0;
    for (int round = 0; round < 80; ++round) {
        const CoreNetwork of = random_network(random);
        const Cores cores = alike_cores(3);
        const BytePrices prices(cores);
        SearchOptions options = options_for(cores, 0);
        options.prices = &prices;
        FoundBlocks found = search(of.segments.at(0), options);
        join_stages(of.segments[0], options, found);
        joined += found.stages != stages_in_order(found.blocks);
        // Layer by layer: bytes of a block's inputs count unless the block needs another one of its
        // stage.
        const auto needs = needed_blocks(of.segments[0], found.blocks);
        std::uint64_t ns = 0;
        std::size_t before = no_stage_before;
        for (std::size_t stage = 0; stage <= std::ranges::max(found.stages); ++stage) {
            std::vector<std::uint64_t> cycles(3);
            std::uint64_t bytes = 0;
            for (std::size_t block = 0; block < found.blocks.size(); ++block) {
                if (found.stages[block] != stage)
                    continue;
                const Block& at = found.blocks[block];
                Growth growth(of.segments[0], at.first_layer + at.layer_count - 1, at.shares,
                              &prices);
                while (growth.first() > at.first_layer && growth.take_in())
                    ;
                for (std::size_t core = 0; core < 3; ++core)
                    cycles[core] += growth.cycles()[core];
                bool is_first = true;
                for (const std::size_t needed : needs[block])
                    is_first = is_first && found.stages[needed] != stage;
                bytes += is_first ? growth.bytes_read() : 0;
            }
            ns += stage_ns(options, cycles, before, bytes);
            const auto busy = std::ranges::count_if(cycles, [](auto of) { return of > 0; });
            before = busy > 1 ? several_cores
                              : static_cast<std::size_t>(
                                    std::ranges::find_if(cycles, [](auto of) { return of > 0; }) -
                                    cycles.begin());
        }
        EXPECT_NEAR(static_cast<double>(found.ns), static_cast<double>(ns),
                    static_cast<double>(of.segments[0].layers.size()));
    }
    EXPECT_GT(joined, 5u);
}

// Nine layers for eight cores: each core has one, and the ninth is shared.
TEST(JoinedStages, WhatIsLeftOverIsShared) {
    CoreNetwork of = branches(9, 1, 16, 32);
    const Cores cores = alike_cores(8);
    const SearchOptions options = options_for(cores);
    const FoundPlan plan = find_plan(of.segments, options);
    std::size_t whole = 0, shared = 0;
    for (const Block& block : plan.blocks.at(0))
        ++(only_core(block) == no_core ? shared : whole);
    EXPECT_EQ(whole, 8u);
    EXPECT_EQ(shared, 1u);
    EXPECT_EQ(made(of, options, plan).segments.at(0).ns, plan.ns);
}

// Layers that one core has in a row, the last of which reads all others.
TEST(JoinedStages, LayersThatOneCoreHadMoveToOthersThoughOneReadsThemAll) {
    NetworkBuilder builder(8, 8);
    std::vector<std::size_t> ends;
    while (ends.size() < 16)
        ends.push_back(builder.convolution(0));
    const std::size_t all = builder.concatenation(ends);
    CoreNetwork of = builder.network({builder.sum(all, all)});
    const Cores cores = alike_cores(4);
    const SearchOptions options = options_for(cores, 2000);
    const FoundBlocks found = search(of.segments.at(0), options);
    ASSERT_TRUE(std::ranges::all_of(found.blocks, [](const Block& of) {
        return only_core(of) == 0;
    })) << "the search leaves them to one core";
    const FoundPlan plan = find_plan(of.segments, options);
    EXPECT_EQ(plan.core_count, 4u);
    EXPECT_LT(plan.ns, found.ns);
}

// The blocks that the search finds in order fit, and joined stages would not.
TEST(JoinedStages, AreLeftOutWhereTheyNeedMoreScratchMemoryThanThereMayBe) {
    NetworkBuilder builder(1024, 64);
    std::size_t all = builder.convolution(0);
    for (int chain = 0; chain < 2; ++chain)
        all = builder.sum(all, builder.convolution(builder.convolution(0)));
    CoreNetwork of = builder.network({builder.convolution(all)});
    const Cores cores = alike_cores(4);
    const SearchOptions options = options_for(cores);
    const FoundPlan joined = find_plan(of.segments, options);
    EXPECT_THROW(made(of, options, joined), LimitError);
    CoreOptions asked;
    asked.cores = cores;
    const CorePlan plan = plan_cores(of.graph, of.quantised, of.program, asked);
    EXPECT_LE(plan.segments.at(0).scratch_bytes, std::uint64_t{OVERTAKE_MAX_SCRATCH_BYTES});
    EXPECT_GE(plan.segments[0].ns, joined.ns);
}

TEST(JoinedStages, SegmentsAreJoinedEachForItself) {
    CoreNetwork a = branches(9, 1, 16, 32), b = branches(5, 2);
    std::vector<SegmentLayers> both{a.segments.at(0), b.segments.at(0)};
    const Cores cores = alike_cores(4);
    std::vector<double> done;
    SearchOptions options = options_for(cores);
    options.progress = [&](double part) { done.push_back(part); };
    const FoundPlan plan = find_plan(both, options);
    ASSERT_EQ(plan.blocks.size(), 2u);
    ASSERT_EQ(plan.stages.size(), 2u);
    EXPECT_EQ(plan.ns, find_plan(a.segments, options_for(cores)).ns +
                           find_plan(b.segments, options_for(cores)).ns);
    EXPECT_TRUE(std::ranges::is_sorted(done));
    EXPECT_DOUBLE_EQ(done.back(), 1);
    EXPECT_EQ(find_plan({}, options).ns, 0u);
}

// A core has a chain of small layers to itself; the search makes blocks of several layers from it.
TEST(JoinedStages, BlocksOfSeveralLayersFallApartWhereCoresHaveThemWhole) {
    Random random(9);
    NetworkBuilder builder(32, 16);
    std::vector<std::size_t> ends;
    while (ends.size() < 4) // one chain after the other
        ends.push_back(builder.convolution(builder.convolution(builder.convolution(0))));
    CoreNetwork of = builder.network({builder.concatenation(ends)});
    const Cores cores = alike_cores(4);
    const SearchOptions options = options_for(cores, 1500);
    const FoundBlocks found = search(of.segments.at(0), options);
    EXPECT_TRUE(
        std::ranges::any_of(found.blocks, [](const Block& of) { return of.layer_count > 1; }));
    const FoundPlan plan = find_plan(of.segments, options);
    EXPECT_EQ(plan.blocks.at(0).size(), 12u);
    EXPECT_LT(plan.ns, found.ns);
    const CorePlan core_plan = made(of, options, plan);
    EXPECT_EQ(core_plan.segments.at(0).stage_count, 1u);
    EXPECT_EQ(core_plan.segments[0].ns, plan.ns);
    EXPECT_EQ(compare_plan(random, of, core_plan), "");
}

TEST(JoinedStages, AReportSaysThatCoresMeetBehindTheLastLayerOfAStage) {
    CoreNetwork of = branches(24, 1);
    const Cores cores = alike_cores(8);
    const SearchOptions options = options_for(cores);
    const CorePlan plan = made(of, options, find_plan(of.segments, options));
    ASSERT_EQ(plan.layers.size(), 24u);
    for (std::size_t layer = 0; layer < 24; ++layer)
        EXPECT_EQ(plan.layers[layer].transmits, layer == 23) << layer;
}

TEST(JoinedStages, WithoutOverlapCoresMeetBehindEachLayer) {
    const CoreNetwork of = branches(6, 2);
    const Cores cores = alike_cores(4);
    SearchOptions options = options_for(cores, 0);
    options.overlap = false;
    const FoundPlan plan = find_plan(of.segments, options);
    EXPECT_EQ(plan.stages.at(0), stages_in_order(plan.blocks.at(0)));
}

TEST(JoinedStages, LayersAreSharedAnewByCoresThatMayRunThem) {
    const CoreNetwork of = branches(12, 1);
    Cores cores = alike_cores(4);
    auto without = std::make_shared<ovt_profile>(*cores[0]);
    without->without = std::uint64_t{1} << OVERTAKE_OP_CONV;
    cores[1] = without;
    SearchOptions options = options_for(cores);
    options.uses = {true, true, false, true};
    FoundBlocks found = search(of.segments.at(0), options);
    join_stages(of.segments[0], options, found);
    EXPECT_GE(std::ranges::count(found.stages, std::size_t{0}), 12);
    for (std::size_t block = 0; block < found.blocks.size(); ++block) {
        EXPECT_TRUE(found.blocks[block].shares[2].empty());
        if (found.stages[block] == 0) {
            EXPECT_TRUE(found.blocks[block].shares[1].empty());
        }
    }
}

TEST(JoinedStages, OnlyTheSchemesThatMayBeUsedAre) {
    const CoreNetwork of = branches(3, 2, 24, 32);
    const Cores cores = alike_cores(4);
    SearchOptions options = options_for(cores);
    options.schemes = {Scheme::column};
    const FoundPlan plan = find_plan(of.segments, options);
    EXPECT_NE(plan.stages.at(0), stages_in_order(plan.blocks.at(0)));
    for (const Block& block : plan.blocks[0])
        EXPECT_TRUE(block.scheme == Scheme::column || block.scheme == Scheme::single);
}

// Twelve pairs: each first value has 2.3 MiB, and in order only one of them is alive.
TEST(JoinedStages, ValuesThatWouldNeedMuchMemoryAtOnceAreMadeInOrder) {
    NetworkBuilder builder(192, 64);
    std::size_t all = builder.convolution(0);
    for (int pair = 0; pair < 12; ++pair)
        all = builder.sum(all, builder.convolution(builder.convolution(0)));
    CoreNetwork of = builder.network({all});
    const Cores cores = alike_cores(4);
    const SearchOptions options = options_for(cores, 0);
    const FoundPlan plan = find_plan(of.segments, options);
    EXPECT_EQ(widest(plan), 1u);
    EXPECT_LT(made(of, options, plan).segments.at(0).scratch_bytes, 16u << 20);
}

TEST(JoinedStages, AStageThatRunsBeforeWhatItNeedsIsRefused) {
    const CoreNetwork of = sums(2);
    const std::vector<Block> apart = single_blocks(of, {0, 1, 0}), one = single_blocks(of, {0});
    EXPECT_EQ(refusal_of_stages(of, apart, {0, 0, 1}), "none");
    EXPECT_NE(refusal_of_stages(of, apart, {0, 0, 0}), "none") << "the sum reads what core 2 makes";
    EXPECT_EQ(refusal_of_stages(of, apart, {1, 0, 1}), "none") << "core 1 has both of stage 1";
    EXPECT_NE(refusal_of_stages(of, apart, {0, 1, 1}), "none") << "the sum is at once with core 2";
    EXPECT_EQ(refusal_of_stages(of, one, {0, 0, 0}), "none");
    EXPECT_NE(refusal_of_stages(of, one, {0, 1, 0}), "none")
        << "the sum is before the second convolution";
    EXPECT_NE(refusal_of_stages(of, one, {0, 0}), "none") << "one has no stage";
    EXPECT_NE(refusal_of_stages(of, apart, {0, 0, 2}), "none") << "no block is in stage 1";
}

// The second layer overwrites a part of the output of the first layer, which the third layer has
// read.
TEST(NeededBlocks, AreThoseReadAndThoseOverwritten) {
    SegmentLayers segment;
    segment.layers.resize(4);
    segment.layers[1].overwrites = {0};
    segment.layers[2].writers[0] = {0, 1};
    segment.layers[3].writers[1] = {1};
    const Block each{0, 1, Scheme::single, {}};
    std::vector<Block> blocks(4, each);
    for (std::size_t layer = 0; layer < 4; ++layer)
        blocks[layer].first_layer = layer;
    using Needs = std::vector<std::vector<std::size_t>>;
    EXPECT_EQ(needed_blocks(segment, blocks), (Needs{{}, {0}, {0, 1}, {1}}));
    blocks = {each, {1, 2, Scheme::single, {}}, {3, 1, Scheme::single, {}}};
    EXPECT_EQ(needed_blocks(segment, blocks), (Needs{{}, {0}, {1}}));
}

TEST(NeededBlocks, HaveTimesOfTheirOwnWhereOneCoreRunsThem) {
    const CoreNetwork of = sums(3);
    const std::vector<std::size_t> stages{0, 0, 0, 1, 2};
    EXPECT_EQ(times_of(single_blocks(of, {0}), stages), (std::vector<std::size_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(times_of(single_blocks(of, {0, 1}), stages),
              (std::vector<std::size_t>{0, 0, 0, 1, 2}));
}
