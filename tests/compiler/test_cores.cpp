// SPDX-License-Identifier: MIT
//
// The division of layers among cores, and the results: boxes, stages, memory, time and limits.
// test_core_bits.py tests that every plan gives the same results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "compiler/cores/plan.hpp"
#include "compiler/cores/verify_blocks.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/lower/cost.hpp"
#include "compiler/lower/cut.hpp"
#include "compiler/lower/lower.hpp"
#include "compiler/lower/split.hpp"
#include "convolution_chain.hpp"
#include "core_checks.hpp"

using namespace overtake::compiler;
using namespace overtake::test;

namespace {

std::vector<std::shared_ptr<const ovt_profile>> cores_of(std::size_t count,
                                                         const ovt_profile& profile = usual()) {
    return std::vector<std::shared_ptr<const ovt_profile>>(
        count, std::make_shared<const ovt_profile>(profile));
}

CoreNetwork network(const Graph& graph) {
    return layered_network(graph, std::vector<Range>(graph.values.size(), {-1, 1}));
}

// Returns an instruction with a random window over a tensor; the geometry needs no other fields.
overtake_insn window(Random& random) {
    overtake_insn insn{};
    insn.opcode = OVERTAKE_OP_CONV;
    insn.groups = 1;
    insn.kernel_height = static_cast<std::uint16_t>(pick(random, 1, 5));
    insn.kernel_width = static_cast<std::uint16_t>(pick(random, 1, 5));
    insn.stride_height = static_cast<std::uint16_t>(pick(random, 1, 3));
    insn.stride_width = static_cast<std::uint16_t>(pick(random, 1, 3));
    insn.dilation_height = static_cast<std::uint16_t>(pick(random, 0, 3));
    insn.dilation_width = static_cast<std::uint16_t>(pick(random, 0, 3));
    insn.pad_top = static_cast<std::uint16_t>(pick(random, 0, insn.kernel_height - 1));
    insn.pad_left = static_cast<std::uint16_t>(pick(random, 0, insn.kernel_width - 1));
    const auto shape = [&](std::uint32_t height, std::uint32_t width, std::uint32_t channels) {
        const std::uint32_t pixel = (channels + 7) / 8 * 8;
        return overtake_operand{OVERTAKE_REGION_SCRATCH, 0,     64, height, width, channels,
                                width * pixel,           pixel, 0};
    };
    const std::uint32_t height = pick(random, 1, 30), width = pick(random, 1, 30);
    // As many windows as begin inside the tensor.
    insn.in[0] = shape(height, width, pick(random, 1, 40));
    insn.out = shape((height - 1 + insn.pad_top) / insn.stride_height + 1,
                     (width - 1 + insn.pad_left) / insn.stride_width + 1, pick(random, 1, 60));
    return insn;
}

// Returns the rows [first, last] that windows over these outputs reach.
std::pair<std::int64_t, std::int64_t> reached(std::uint32_t first, std::uint32_t count,
                                              std::int64_t stride, std::int64_t pad,
                                              std::int64_t kernel, std::int64_t dilation,
                                              std::int64_t size) {
    const std::int64_t begin = first * stride - pad;
    const std::int64_t rows = (count - 1) * stride + dilation * (kernel - 1) + 1;
    return {std::max<std::int64_t>(begin, 0), std::min(begin + rows, size) - 1};
}

// Returns how often each element of the output is in a box.
std::vector<int> painted(const overtake_insn& insn, const Shares& shares) {
    std::vector<int> counts(elements(whole(insn)));
    for (const std::vector<Box>& boxes : shares)
        for (const Box& box : boxes)
            for (std::uint32_t y = box.row; y < box.row + box.rows; ++y)
                for (std::uint32_t x = box.column; x < box.column + box.columns; ++x)
                    for (std::uint32_t c = box.channel; c < box.channel + box.channels; ++c)
                        ++counts.at((std::size_t{y} * insn.out.width + x) * insn.out.channels + c);
    return counts;
}

std::uint64_t elements_of(const std::vector<Box>& boxes) {
    std::uint64_t sum = 0;
    for (const Box& box : boxes)
        sum += elements(box);
    return sum;
}

Block shared_block(const CoreNetwork& of, std::size_t first, std::size_t count, Scheme scheme,
                   std::size_t cores) {
    const overtake_insn& last = of.segments[0].layers[first + count - 1].step.insn;
    return {first, count, scheme, shares(last, scheme, std::vector<double>(cores, 1)).value()};
}

Block single_block(const CoreNetwork& of, std::size_t layer, std::size_t core, std::size_t cores) {
    return {layer, 1, Scheme::single,
            single_share(of.segments[0].layers[layer].step.insn, core, cores)};
}

CorePlan plan_of(CoreNetwork& of, const CoreGroup& group, const std::vector<Block>& blocks) {
    return generate(of.graph, of.program, of.segments, group, {blocks});
}

template <typename Function>
std::string refusal(const Function& function) {
    try {
        function();
    } catch (const CompileError& error) {
        return error.what();
    }
    return "none";
}

} // namespace

TEST(CoreGeometry, WindowsNeedTheRowsAndColumnsThatTheyReach) {
    Random random(1);
    for (int round = 0; round < 2000; ++round) {
        const overtake_insn insn = window(random);
        Box box;
        box.row = pick(random, 0, insn.out.height - 1);
        box.rows = pick(random, 1, insn.out.height - box.row);
        box.column = pick(random, 0, insn.out.width - 1);
        box.columns = pick(random, 1, insn.out.width - box.column);
        box.channels = insn.out.channels;
        if (box == whole(insn))
            continue;
        const Box need = needed(insn, 0, box);
        const auto rows =
            reached(box.row, box.rows, insn.stride_height, insn.pad_top, insn.kernel_height,
                    std::max<int>(insn.dilation_height, 1), insn.in[0].height);
        const auto columns =
            reached(box.column, box.columns, insn.stride_width, insn.pad_left, insn.kernel_width,
                    std::max<int>(insn.dilation_width, 1), insn.in[0].width);
        EXPECT_EQ(need.row, rows.first);
        EXPECT_EQ(need.row + need.rows - 1, rows.second);
        EXPECT_EQ(need.column, columns.first);
        EXPECT_EQ(need.column + need.columns - 1, columns.second);
        EXPECT_EQ(need.channel, 0u);
        EXPECT_EQ(need.channels, insn.in[0].channels);
    }
}

TEST(CoreGeometry, SharesMakeAllOfAnOutputOnceInProportionToTheSpeeds) {
    Random random(2);
    std::size_t found = 0;
    for (int round = 0; round < 3000; ++round) {
        const overtake_insn insn = window(random);
        std::vector<double> speeds(pick(random, 2, 9));
        for (double& speed : speeds)
            speed = pick(random, 0, 5) == 0 ? 0 : pick(random, 1, 40) / 10.0;
        speeds[0] = 1;
        const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
        const Scheme scheme = cutting[round % 5];
        const auto made = shares(insn, scheme, speeds);
        if (!made)
            continue;
        ++found;
        ASSERT_EQ(made->size(), speeds.size());
        EXPECT_EQ(std::ranges::count(painted(insn, *made), 1),
                  static_cast<std::ptrdiff_t>(elements(whole(insn))));
        for (std::size_t core = 0; core < speeds.size(); ++core) {
            const double ideal = static_cast<double>(elements(whole(insn))) * speeds[core] / sum;
            const auto has = static_cast<double>(elements_of((*made)[core]));
            EXPECT_LE((*made)[core].size(), scheme == Scheme::balanced ? 3u : 1u);
            EXPECT_TRUE(speeds[core] > 0 || has == 0);
            if (scheme == Scheme::balanced) { // exact to a position
                EXPECT_LE(std::abs(has - ideal), insn.out.channels);
            } else if (scheme == Scheme::row) {
                EXPECT_LE(std::abs(has - ideal), double(insn.out.width) * insn.out.channels);
            }
        }
    }
    EXPECT_GT(found, 1000u);
}

TEST(CoreGeometry, AGridHasRowsTimesColumnsAndNoneWhereThatIsOne) {
    Random random(3);
    overtake_insn insn = window(random);
    insn.in[0].height = insn.in[0].width = insn.out.height = insn.out.width = 24;
    insn.in[0].row_stride = insn.in[0].width * insn.in[0].pixel_stride;
    insn.out.row_stride = insn.out.width * insn.out.pixel_stride;
    insn.stride_height = insn.stride_width = 1;
    for (const std::size_t cores : {2, 3, 5, 7})
        EXPECT_FALSE(shares(insn, Scheme::grid, std::vector<double>(cores, 1)));
    const auto six = shares(insn, Scheme::grid, std::vector<double>(6, 1));
    ASSERT_TRUE(six);
    for (const std::vector<Box>& boxes : *six)
        EXPECT_EQ(elements_of(boxes), elements(whole(insn)) / 6);
    EXPECT_TRUE(shares(insn, Scheme::grid, std::vector<double>{1, 0, 1, 1, 1}))
        << "a core without speed is not counted";
}

TEST(CoreGeometry, OutputsThatNoInputReachesAreNoPieceOfTheirOwn) {
    overtake_insn insn{};
    insn.opcode = OVERTAKE_OP_TRANSPOSED_CONV;
    insn.groups = insn.kernel_height = insn.kernel_width = 1;
    insn.stride_height = insn.stride_width = 4;
    insn.in[0] = {OVERTAKE_REGION_SCRATCH, 0, 0, 3, 3, 8, 24, 8, 0};
    insn.out = {OVERTAKE_REGION_SCRATCH, 0, 512, 12, 12, 8, 96, 8, 0};
    EXPECT_EQ(aligned(insn, {4, 1, 0, 12, 0, 8}), (Box{4, 1, 0, 12, 0, 8}));
    EXPECT_EQ(aligned(insn, {5, 3, 0, 12, 0, 8}), whole(insn));
    EXPECT_EQ(aligned(insn, {0, 12, 9, 2, 0, 8}), whole(insn));
    EXPECT_TRUE(shares(insn, Scheme::row, std::vector<double>(3, 1)));
    EXPECT_FALSE(shares(insn, Scheme::row, std::vector<double>(6, 1)));
}

TEST(CoreGeometry, APieceCostsWhatItIsSaidToCost) {
    Random random(4);
    CoreNetwork of = network(chain(20, 24, 3));
    const overtake_insn& insn = of.segments[0].layers[1].step.insn;
    for (const Scheme scheme : cutting) {
        const Shares made = shares(insn, scheme, std::vector<double>{1, 2, 3, 1}).value();
        for (const std::vector<Box>& boxes : made)
            for (const Box& box : boxes)
                EXPECT_EQ(piece_cost(insn, box, usual()),
                          cost(piece(insn, box, of.program.constants), usual()));
    }
}

TEST(CoreGrowth, HalosGrowBackwardsByWhatWindowsReach) {
    const CoreNetwork of = network(chain(32, 8, 4));
    const Shares last =
        *shares(of.segments[0].layers[3].step.insn, Scheme::row, std::vector<double>{1, 1});
    const std::vector<Shares> boxes = grow(of.segments[0], 0, 4, last);
    ASSERT_EQ(boxes.size(), 4u);
    for (std::uint32_t layer = 0; layer < 4; ++layer) {
        EXPECT_EQ(boxes[layer][0].at(0).rows, 16 + 3 - layer);
        EXPECT_EQ(boxes[layer][1].at(0).row, 16 - (3 - layer));
        EXPECT_EQ(boxes[layer][1].at(0).rows, 16 + 3 - layer);
    }
    const auto cores = cores_of(2);
    const ModelPrices prices(cores, 500);
    Growth growth(of.segments[0], 3, last, &prices);
    std::uint64_t cycles = 0;
    do {
        for (const Box& box : growth.boxes(growth.first())[0])
            cycles += piece_cost(of.segments[0].layers[growth.first()].step.insn, box, usual());
        EXPECT_EQ(growth.cycles()[0], cycles);
    } while (growth.take_in());
    EXPECT_EQ(growth.first(), 0u);
}

TEST(CoreStages, LayersOfOneCoreShareOneAndOthersDoNot) {
    CoreNetwork of = network(chain(16, 8, 6));
    const std::vector<Block> blocks{
        single_block(of, 0, 1, 2), single_block(of, 1, 1, 2),
        single_block(of, 2, 0, 2), shared_block(of, 3, 1, Scheme::row, 2),
        single_block(of, 4, 0, 2), single_block(of, 5, 0, 2)};
    const CorePlan plan = plan_of(of, {cores_of(2), 500, 0}, blocks);
    const CoreSegment& segment = plan.segments.at(0);
    EXPECT_EQ(segment.stage_count, 4u);
    ASSERT_EQ(segment.parts.size(), 2u);
    EXPECT_EQ(segment.parts[0].stages, (std::vector<std::uint32_t>{1, 2, 3}));
    EXPECT_EQ(segment.parts[1].stages, (std::vector<std::uint32_t>{0, 2}));
    // The first stage costs no sync.  In the third, core 0 needs none, since it alone was busy
    // before.  In the last, core 0 waits for both.
    const auto fc = [&](std::size_t part, std::size_t index) {
        return segment.parts[part].fcs[index].cycles;
    };
    EXPECT_EQ(segment.ns,
              fc(1, 0) + (500 + fc(0, 0)) + std::max(fc(0, 1), 500 + fc(1, 1)) + (500 + fc(0, 2)));
    EXPECT_EQ(plan.layers.size(), 6u);
}

TEST(CoreStages, ACoreThatWasAloneGoesOnAtOnce) {
    CoreNetwork of = network(chain(16, 8, 2));
    std::vector<Block> blocks{single_block(of, 0, 0, 2), shared_block(of, 1, 1, Scheme::row, 2)};
    blocks[1].shares = {{Box{0, 15, 0, 16, 0, 8}}, {Box{15, 1, 0, 16, 0, 8}}};
    const CorePlan plan = plan_of(of, {cores_of(2), 500, 0}, blocks);
    const std::vector<CorePart>& parts = plan.segments.at(0).parts;
    EXPECT_LT(parts[1].fcs[0].cycles + 500, parts[0].fcs[1].cycles);
    EXPECT_EQ(plan.segments[0].ns, parts[0].fcs[0].cycles + parts[0].fcs[1].cycles);
}

TEST(CoreStages, LimitsOfFcsCutEachPartOfAStage) {
    CoreNetwork of = network(chain(32, 16, 3));
    std::vector<Block> blocks;
    for (std::size_t layer = 0; layer < 3; ++layer)
        blocks.push_back(shared_block(of, layer, 1, Scheme::balanced, 3));
    const CorePlan plan = plan_of(of, {cores_of(3), 500, 4}, blocks);
    for (const CorePart& part : plan.segments.at(0).parts) {
        EXPECT_GT(part.fcs.size(), 3u);
        ASSERT_EQ(part.stages.size(), part.fcs.size());
        EXPECT_TRUE(std::ranges::is_sorted(part.stages));
        for (const FunctionCall& fc : part.fcs)
            EXPECT_LE(fc.cycles, 4000u);
    }
}

TEST(CoreMemory, OneCoreNeedsNoMoreThanBefore) {
    CoreNetwork of = network(chain(24, 16, 9));
    std::vector<Block> blocks;
    for (std::size_t layer = 0; layer < 9; ++layer)
        blocks.push_back(single_block(of, layer, 0, 2));
    const CorePlan plan = plan_of(of, {cores_of(2), 500, 0}, blocks);
    EXPECT_EQ(plan.segments.at(0).scratch_bytes, of.program.segments.at(0).scratch_bytes);
    EXPECT_EQ(plan.segments.at(0).stage_count, 1u);
}

TEST(CoreMemory, RandomPlansOfResidualNetworksGiveTheSameBits) {
    Random random(5);
    for (int round = 0; round < 40; ++round) {
        Graph graph = chain(pick(random, 5, 20), 8 * pick(random, 1, 3), pick(random, 2, 6));
        for (std::size_t from = 1, count = graph.nodes.size(); from < count; ++from) {
            Node sum; // of the last value and an earlier one
            sum.name = "sum" + std::to_string(from);
            sum.onnx_type = "Add";
            sum.operation = op::Pair{};
            sum.inputs = {graph.values.size() - 1, from};
            sum.output = graph.values.size();
            graph.values.push_back(graph.values[0]);
            graph.values.back().name = sum.name;
            graph.nodes.push_back(std::move(sum));
        }
        graph.outputs = {graph.values.size() - 1};
        CoreNetwork of = network(graph);
        BlockChoice choice;
        choice.any_boxes = round % 3 == 0;
        const std::size_t cores = pick(random, 2, 8);
        const auto blocks = random_blocks(random, of.segments[0], cores, choice);
        const CorePlan plan = plan_of(of, {cores_of(cores), 500, 0}, blocks);
        EXPECT_EQ(compare_plan(random, of, plan), "") << "round " << round;
    }
}

// Cores that make only padding around the input have no input to read.
TEST(CoreMemory, PiecesOfPaddingAloneReadNoInput) {
    Graph graph = chain(8, 8, 1);
    Node pad;
    pad.name = "pad";
    pad.onnx_type = "Pad";
    pad.operation = op::Pad{op::Pad::Mode::constant, 0.5f, {0, 8, 0}};
    pad.inputs = {1};
    pad.output = 2;
    graph.values.push_back({"2", {1, 8, 24, 8}, 8, 24, 8});
    graph.nodes.push_back(pad);
    graph.outputs = {2};
    Random random(6);
    for (const Scheme scheme : {Scheme::row, Scheme::balanced, Scheme::grid}) {
        CoreNetwork of = network(graph);
        const CorePlan plan =
            plan_of(of, {cores_of(6), 500, 0}, {shared_block(of, 0, 2, scheme, 6)});
        EXPECT_EQ(compare_plan(random, of, plan), "");
        EXPECT_LT(
            std::ranges::count_if(
                plan.steps, [](const Step& step) { return step.insn.opcode == OVERTAKE_OP_CONV; }),
            6);
    }
}

TEST(CorePlans, IsTheSameEachTimeAndNotBelowItsBound) {
    CoreNetwork of = network(chain(56, 64, 8));
    split(of.graph, of.program, usual(), 0);
    for (const std::size_t cores : {2, 3, 4, 7, 8}) {
        CoreOptions options;
        options.cores = cores_of(cores);
        const CorePlan plan = plan_cores(of.graph, of.quantised, of.program, options);
        const CorePlan again = plan_cores(of.graph, of.quantised, of.program, options);
        ASSERT_EQ(plan.steps.size(), again.steps.size());
        for (std::size_t step = 0; step < plan.steps.size(); ++step)
            EXPECT_EQ(
                std::memcmp(&plan.steps[step].insn, &again.steps[step].insn, sizeof(overtake_insn)),
                0);
        EXPECT_EQ(plan.segments.at(0).ns, find_plan(of.segments, {options.cores, {}, 500}).ns);
        EXPECT_GE(plan.segments[0].ns, plan.bound_ns);
        EXPECT_GE((plan.bound_ns + 1) * cores + usual().fc_overhead_cycles, plan.one_core_ns);
        EXPECT_LT(plan.segments[0].ns, plan.one_core_ns);
    }
}

TEST(CorePlans, SharesAreBalancedByPricesOfTheNetwork) {
    CoreNetwork of = network(chain(48, 16, 1));
    CoreOptions options;
    options.cores = cores_of(2);
    options.schemes = {Scheme::balanced};
    std::size_t made = 0;
    options.share_prices = [&](const Graph& graph, const QuantisedGraph&, const Program&,
                               std::span<const SegmentLayers> segments) {
        EXPECT_EQ(&graph, &of.graph);
        EXPECT_EQ(segments.size(), 1u);
        ++made;
        return [](const overtake_insn&, std::span<const Box> boxes, std::size_t core) {
            return static_cast<double>(elements_of({boxes.begin(), boxes.end()})) *
                   (core == 0 ? 3 : 1);
        };
    };
    const CorePlan plan = plan_cores(of.graph, of.quantised, of.program, options);
    EXPECT_EQ(made, 1u);
    const std::vector<std::uint64_t>& outputs = plan.layers.at(0).outputs;
    EXPECT_NEAR(static_cast<double>(outputs[1]) / static_cast<double>(outputs[0]), 3, 0.3);
}

TEST(CorePlans, GivesACoreNothingThatItLacks) {
    CoreNetwork of = network(chain(16, 8, 3));
    CoreOptions options;
    options.cores = cores_of(3);
    ovt_profile lacking = usual();
    lacking.without = std::uint64_t{1} << OVERTAKE_OP_CONV;
    options.cores[1] = std::make_shared<const ovt_profile>(lacking);
    const CorePlan plan = plan_cores(of.graph, of.quantised, of.program, options);
    for (const CorePart& part : plan.segments.at(0).parts)
        EXPECT_NE(part.core, 1u);
    EXPECT_EQ(refusal([&] {
                  plan_of(of, {options.cores, 500, 0}, {shared_block(of, 0, 3, Scheme::row, 3)});
              }),
              "node '0' (Conv): needs an instruction that core 2 lacks");
}

TEST(CoreLimits, TooManyCoresStagesFcsOrBytesAreRefused) {
    CoreNetwork small = network(chain(4, 8, 1));
    EXPECT_EQ(refusal([&] {
                  plan_of(small, {cores_of(65), 500, 0}, {single_block(small, 0, 0, 65)});
              }),
              "--cores: is more than 64; choose fewer");

    CoreNetwork deep = network(chain(4, 8, 4097));
    std::vector<Block> blocks;
    for (std::size_t layer = 0; layer < 4097; ++layer)
        blocks.push_back(shared_block(deep, layer, 1, Scheme::row, 2));
    EXPECT_EQ(refusal([&] {
                  plan_of(deep, {cores_of(2), 500, 0}, blocks);
              }),
              "--cores: gives 'chain' 4097 stages, more than a job may have (4096); compile it for "
              "one core");
    blocks.erase(blocks.begin());
    blocks[0] = shared_block(deep, 0, 2, Scheme::row, 2);
    EXPECT_EQ(plan_of(deep, {cores_of(2), 500, 0}, blocks).segments.at(0).stage_count, 4096u);

    CoreNetwork wide = network(chain(256, 8, 2));
    ovt_profile exact = usual(); // so that a pixel takes a microsecond
    exact.fc_overhead_cycles = 0;
    exact.clock_khz = 1000 * static_cast<u32>(smallest_max_cycles(wide.program, exact));
    const std::vector<Block> both{shared_block(wide, 0, 1, Scheme::row, 2),
                                  shared_block(wide, 1, 1, Scheme::row, 2)};
    EXPECT_NE(refusal([&] {
                  plan_of(wide, {cores_of(2, exact), 500, 1}, both);
              })
                  .find("FCs on all cores, more than a job may have (65536); choose a greater "
                        "value"),
              std::string::npos);
    EXPECT_EQ(refusal([&] {
                  plan_of(wide, {cores_of(2), 500, 1}, both);
              }),
              "--max-time-per-fc: is below the smallest piece of 'chain' on core 1; it needs 2 or "
              "more");
}

TEST(CoreLimits, CopiesOfHalosThatTakeTooMuchScratchAreRefused) {
    Graph graph = chain(64, 8, 60);
    for (Value& value : graph.values) {
        value.width = 1 << 16;
        value.shape[3] = value.width;
    }
    CoreNetwork of = network(graph);
    EXPECT_NE(refusal([&] {
                  plan_of(of, {cores_of(8), 500, 0}, {shared_block(of, 0, 60, Scheme::row, 8)});
              }).find("bytes of scratch on 8 cores, more than 268435456"),
              std::string::npos);
}

TEST(CoreBlocks, ThatDoNotFitAreRefused) {
    Graph graph = chain(16, 8, 3);
    Node sum;
    sum.name = "sum";
    sum.onnx_type = "Add";
    sum.operation = op::Pair{};
    sum.inputs = {3, 1};
    sum.output = 4;
    graph.values.push_back(graph.values[0]);
    graph.nodes.push_back(sum);
    graph.outputs = {4};
    const CoreNetwork of = network(graph);
    const auto verdict = [&](std::vector<Block> blocks) {
        return refusal(
            [&] { verify_blocks(of.graph, of.segments[0], blocks, stages_in_order(blocks), 2); });
    };
    const auto row = [&](std::size_t first, std::size_t count) {
        return shared_block(of, first, count, Scheme::row, 2);
    };
    EXPECT_EQ(verdict({row(0, 4)}), "none");
    EXPECT_EQ(verdict({row(0, 1), row(1, 3)}), "none");
    EXPECT_NE(verdict({row(0, 2), row(2, 2)}), "none") << "the sum reads the first layer, too";
    EXPECT_NE(verdict({row(0, 1), row(2, 2)}), "none") << "a layer is left out";
    EXPECT_NE(verdict({row(0, 1), row(1, 2)}), "none") << "the last layer is left out";
    std::vector<Block> twice{row(0, 4)};
    twice[0].shares[1] = twice[0].shares[0];
    EXPECT_NE(verdict(twice), "none") << "a half is made twice, the other one not at all";
    std::vector<Block> uneven{row(0, 4)};
    uneven[0].shares = {{Box{0, 16, 0, 16, 0, 4}}, {Box{0, 16, 0, 16, 4, 4}}};
    EXPECT_NE(verdict(uneven), "none") << "channels are cut at multiples of 8";
}
