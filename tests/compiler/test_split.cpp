// SPDX-License-Identifier: MIT
//
// The shape of splits; that they compute the same is test_agreement.py's.
#include "compiler/lower/split.hpp"

#include <gtest/gtest.h>

#include "compiler/ir/error.hpp"
#include "compiler/lower/lower.hpp"

using namespace overtake::compiler;

namespace {

const ovt_profile& profile() {
    return *ovt_profile_find("default");
}

// A chain of 3x3 convolutions that keep their shape.
Graph chain(std::uint32_t size, std::uint32_t channels, std::size_t length) {
    Graph graph;
    graph.name = "chain";
    for (std::size_t index = 0; index <= length; ++index)
        graph.values.push_back(
            {std::to_string(index), {1, channels, size, size}, channels, size, size});
    for (std::size_t index = 0; index < length; ++index) {
        Node node;
        node.name = std::to_string(index);
        node.onnx_type = "Conv";
        node.inputs = {index};
        node.output = index + 1;
        op::Convolution convolution;
        convolution.window = {3, 3, 1, 1, 1, 1};
        convolution.weights.assign(std::size_t{9} * channels * channels, 0.1f);
        convolution.bias.assign(channels, 0.0f);
        node.operation = std::move(convolution);
        graph.nodes.push_back(node);
    }
    graph.inputs = {0};
    graph.outputs = {length};
    return graph;
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
