// SPDX-License-Identifier: MIT
//
// Tests the shape of splits; test_agreement.py tests that they compute the same.
#include "compiler/lower/split.hpp"

#include <random>

#include <gtest/gtest.h>

#include "compiler/ir/error.hpp"
#include "compiler/lower/cut.hpp"
#include "compiler/lower/lower.hpp"
#include "convolution_chain.hpp"

using namespace overtake::compiler;
using overtake::test::chain;

namespace {

const ovt_profile& profile() {
    return *ovt_profile_find("default");
}

Program lowered(const Graph& graph) {
    return lower(graph,
                 quantise(graph, choose_quantisations(
                                     graph, std::vector<Range>(graph.values.size(), {-1, 1}))));
}

std::uint64_t outputs_of(const Program& program) {
    std::uint64_t elements = 0;
    for (const Step& step : program.steps)
        elements +=
            std::uint64_t{step.insn.out.height} * step.insn.out.width * step.insn.out.channels;
    return elements;
}

void expect_sound(const Graph& graph, const Program& program, std::uint64_t limit) {
    check_steps(graph, program);
    std::uint32_t next = 0;
    for (const FunctionCall& fc : program.fcs) {
        EXPECT_EQ(fc.first_step, next);
        ASSERT_GT(fc.step_count, 0u);
        next += fc.step_count;
        std::uint64_t cycles = profile().fc_overhead_cycles;
        for (std::uint32_t step = fc.first_step; step < next; ++step)
            cycles += ovt_insn_cycles(&profile(), &program.steps[step].insn);
        EXPECT_EQ(fc.cycles, cycles);
        EXPECT_TRUE(limit == 0 || fc.cycles <= limit) << fc.cycles << " cycles";
    }
    EXPECT_EQ(next, program.steps.size());
}

} // namespace

TEST(Split, ZeroMakesOneFc) {
    const Graph graph = chain(40, 32, 6);
    Program program = lowered(graph);
    split(graph, program, profile(), 0);
    EXPECT_EQ(program.fcs.size(), 1u);
    expect_sound(graph, program, 0);
}

TEST(Split, EveryFcKeepsTheLimitAndAllButTheLastFillNineTenths) {
    const Graph graph = chain(56, 64, 8);
    Program whole = lowered(graph);
    split(graph, whole, profile(), 0);
    for (std::uint64_t limit : {1000000u, 500000u, 200000u, 100000u}) {
        Program program = lowered(graph);
        split(graph, program, profile(), limit);
        expect_sound(graph, program, limit);
        EXPECT_EQ(outputs_of(program), outputs_of(whole)) << "every output is made exactly once";
        for (std::size_t index = 0; index + 1 < program.fcs.size(); ++index)
            EXPECT_GE(program.fcs[index].cycles * 10, limit * 9)
                << "FC " << index << " of " << limit;
        std::uint64_t total = 0;
        for (const FunctionCall& fc : program.fcs)
            total += fc.cycles;
        EXPECT_LE(total, whole.fcs[0].cycles * 102 / 100) << "costs more than 2 % at " << limit;
    }
}

TEST(Split, TheSmallestLimitWorksAndOneLessIsRefused) {
    for (const Graph& graph : {chain(9, 8, 2), chain(1, 64, 1), chain(5, 19, 3), chain(30, 1, 1)}) {
        Program program = lowered(graph);
        const std::uint64_t smallest = smallest_max_cycles(program, profile());
        Program refused = lowered(graph);
        EXPECT_THROW(split(graph, refused, profile(), smallest - 1), CompileError);
        split(graph, program, profile(), smallest);
        expect_sound(graph, program, smallest);
    }
}

namespace {

// Returns the cycles of the smallest part that an instruction can be cut to: the first pixel of the
// first channels.
std::uint64_t smallest_start(const overtake_insn& insn, const ovt_profile& device) {
    const overtake_insn row = cut_rows(insn, 0, row_step(insn));
    const overtake_insn pixel = cut_columns(row, 0, column_step(row));
    const std::uint32_t channels = channel_step(pixel);
    if (channels == 0 || channels >= pixel.out.channels)
        return ovt_insn_cycles(&device, &pixel);
    return channel_cut_cycles(device, pixel, channels);
}

using Random = std::mt19937;

std::uint32_t draw(Random& random, std::uint32_t first, std::uint32_t last) {
    return std::uniform_int_distribution<std::uint32_t>(first, last)(random);
}

// Convolutions, dense ones and depthwise ones, pools and functions, then a fully connected layer.
Graph random_chain(Random& random) {
    Graph graph;
    graph.name = "random";
    std::uint32_t size = draw(random, 6, 40), channels = draw(random, 1, 80);
    const auto value = [&] {
        graph.values.push_back(
            {std::to_string(graph.values.size()), {1, channels, size, size}, channels, size, size});
        return graph.values.size() - 1;
    };
    graph.inputs = {value()};
    const auto append = [&](Operation operation) {
        Node node;
        node.name = std::to_string(graph.nodes.size());
        node.onnx_type = "Some";
        node.inputs = {graph.values.size() - 1};
        node.output = value();
        node.operation = std::move(operation);
        graph.nodes.push_back(std::move(node));
    };
    for (std::uint32_t left = draw(random, 3, 9); left > 0; --left) {
        const std::uint32_t kind = draw(random, 0, 3);
        op::Convolution convolution;
        const std::uint32_t inputs = channels;
        convolution.window = {3, 3, 1, 1, 1, 1};
        if (kind == 0) {
            append(op::Activation{});
        } else if (kind == 1 && size > 5) {
            size /= 2;
            append(op::Pool{op::Pool::Kind::maximum, {2, 2, 2, 2}});
        } else if (kind == 2) {
            convolution.kind = op::Convolution::Kind::depthwise;
            convolution.weights.assign(std::size_t{9} * channels, 0.1f);
            convolution.bias.assign(channels, 0);
            append(std::move(convolution));
        } else {
            channels = draw(random, 1, 120);
            convolution.weights.assign(std::size_t{9} * inputs * channels, 0.1f);
            convolution.bias.assign(channels, 0);
            append(std::move(convolution));
        }
    }
    op::Convolution whole;
    whole.window = {size, size, 1, 1, 0, 0};
    const std::size_t features = std::size_t{size} * size * channels;
    size = 1;
    channels = draw(random, 1, 60);
    whole.weights.assign(features * channels, 0.1f);
    whole.bias.assign(channels, 0);
    append(std::move(whole));
    graph.outputs = {graph.values.size() - 1};
    return graph;
}

} // namespace

TEST(Split, AnFcEndsEarlyOnlyWhereTheSmallestPieceOfWhatFollowsDoesNotFit) {
    Random random(1);
    std::size_t full = 0, early = 0;
    for (int round = 0; round < 20; ++round) {
        const Graph graph = random_chain(random);
        ovt_profile device = profile();
        device.macs_per_cycle = 1u << draw(random, 3, 10);
        device.bytes_per_cycle = 1u << draw(random, 1, 6);
        device.vector_per_cycle = 1u << draw(random, 2, 7);
        device.insn_overhead_cycles = draw(random, 0, 400);
        device.fc_overhead_cycles = draw(random, 0, 2000);
        Program whole = lowered(graph);
        const std::uint64_t smallest = smallest_max_cycles(whole, device);
        const std::uint64_t limit = smallest + smallest * draw(random, 0, 400) / 100;
        Program program = lowered(graph);
        split(graph, program, device, limit);
        EXPECT_EQ(outputs_of(program), outputs_of(whole));
        for (std::size_t index = 0; index + 1 < program.fcs.size(); ++index) {
            const std::uint64_t cycles = program.fcs[index].cycles;
            EXPECT_LE(cycles, limit);
            (cycles * 10 >= limit * 9 ? full : early) += 1;
            const overtake_insn& next = program.steps[program.fcs[index + 1].first_step].insn;
            EXPECT_TRUE(cycles * 10 >= limit * 9 || cycles + smallest_start(next, device) > limit)
                << "round " << round << ", FC " << index << ": " << cycles << " of " << limit;
        }
    }
    EXPECT_GT(full, 100u);
    EXPECT_GT(early, 0u) << "nothing was to be checked";
}

// The convolutions can be cut finely, but the layer at their end cannot: eight of its outputs fill
// an FC.
TEST(Split, FcsBeforeALongPieceLeaveEnoughForTheLastOfThem) {
    Graph graph = chain(24, 16, 12);
    Node layer;
    layer.name = "layer";
    layer.onnx_type = "Gemm";
    layer.inputs = {12};
    layer.output = 13;
    op::Convolution convolution;
    convolution.window = {24, 24};
    convolution.weights.assign(std::size_t{24} * 24 * 16 * 8, 0.1f);
    convolution.bias.assign(8, 0);
    layer.operation = std::move(convolution);
    graph.nodes.push_back(layer);
    graph.values.push_back({"13", {1, 8}, 8, 1, 1});
    graph.outputs = {13};
    std::size_t checked = 0;
    const std::uint64_t smallest = smallest_max_cycles(lowered(graph), profile());
    for (std::uint64_t limit = smallest; limit < smallest * 21 / 20; limit += smallest / 200) {
        Program whole = lowered(graph), program = lowered(graph);
        split(graph, whole, profile(), 0);
        const std::uint64_t before =
            whole.fcs[0].cycles - ovt_insn_cycles(&profile(), &whole.steps.back().insn);
        split(graph, program, profile(), limit);
        expect_sound(graph, program, limit);
        EXPECT_EQ(outputs_of(program), outputs_of(whole));
        if (before / limit < 10) // there are too few FCs to take cycles from
            continue;
        ++checked;
        for (std::size_t index = 0; index + 1 < program.fcs.size(); ++index)
            EXPECT_GE(program.fcs[index].cycles * 10, limit * 9)
                << "FC " << index << " of " << program.fcs.size() << " at " << limit;
    }
    EXPECT_GT(checked, 0u);
}
