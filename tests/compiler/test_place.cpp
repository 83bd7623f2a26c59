// SPDX-License-Identifier: MIT
//
// The places of values: elements that a concat joins or a slice shows are not moved unless they
// must be.  test_agreement.py checks that the result stays the same.
#include "compiler/lower/memory_plan.hpp"

#include <gtest/gtest.h>

#include "compiler/lower/lower.hpp"
#include "compiler/quantise/concat_scales.hpp"

using namespace overtake::compiler;

namespace {

constexpr std::uint32_t size = 4;

// Builds a graph whose values have size x size pixels and whose input has 8 channels.
struct Builder {
    Graph graph;

    Builder() { graph.inputs = {value(8)}; }

    ValueId value(std::uint32_t channels) {
        const std::string name = std::to_string(graph.values.size());
        graph.values.push_back({name, {1, channels, size, size}, channels, size, size});
        return graph.values.size() - 1;
    }

    Node& node(Operation operation, const std::vector<ValueId>& inputs, std::uint32_t channels) {
        Node node;
        node.name = std::to_string(graph.nodes.size());
        node.operation = std::move(operation);
        node.inputs = inputs;
        node.output = value(channels);
        graph.nodes.push_back(node);
        return graph.nodes.back();
    }

    ValueId convolution(ValueId input, std::uint32_t channels) {
        op::Convolution convolution;
        convolution.weights.assign(std::size_t{channels} * graph.values[input].channels, 0.1f);
        convolution.bias.assign(channels, 0.0f);
        return node(std::move(convolution), {input}, channels).output;
    }

    ValueId slice(ValueId input, std::uint32_t first, std::uint32_t channels) {
        op::Slice slice;
        slice.stretches[axis_channels].first = first;
        return node(slice, {input}, channels).output;
    }

    Program lowered(ValueId output) {
        graph.outputs = {output};
        std::vector<Quantisation> quantisations(graph.values.size(), {1.0f / 128, 0});
        align_concats(graph, quantisations);
        Program program = lower(graph, quantise(graph, quantisations));
        check_steps(graph, program);
        return program;
    }
};

std::size_t count(const Program& program, unsigned opcode) {
    std::size_t steps = 0;
    for (const Step& step : program.steps)
        steps += step.insn.opcode == opcode;
    return steps;
}

} // namespace

TEST(Place, WhatAConcatJoinsIsWrittenWhereItBelongs) {
    Builder builder;
    const ValueId left = builder.convolution(0, 16), right = builder.convolution(0, 24);
    const ValueId both = builder.node(op::Concat{}, {left, right}, 40).output;
    const Program program = builder.lowered(builder.convolution(both, 8));
    EXPECT_EQ(program.steps.size(), 3u);
    EXPECT_EQ(count(program, OVERTAKE_OP_CONV), 3u);
    EXPECT_EQ(program.segments.at(0).places.at(left).offset,
              program.segments.at(0).places.at(both).offset);
    EXPECT_EQ(program.segments.at(0).places.at(right).offset,
              program.segments.at(0).places.at(both).offset + 16);
    EXPECT_EQ(program.segments.at(0).places.at(right).pixel_stride, 40u);
    EXPECT_EQ(program.segments.at(0).scratch_bytes, 40u * size * size)
        << "the parts need no memory of their own";
}

TEST(Place, WhatBeginsAmidABlockOfChannelsIsCopied) {
    Builder builder;
    const ValueId left = builder.convolution(0, 12), right = builder.convolution(0, 8);
    const ValueId both = builder.node(op::Concat{}, {left, right}, 20).output;
    const Program program = builder.lowered(builder.convolution(both, 8));
    EXPECT_EQ(count(program, OVERTAKE_OP_COPY), 1u);
    EXPECT_EQ(program.segments.at(0).places.at(left).offset,
              program.segments.at(0).places.at(both).offset);
}

TEST(Place, AValueThatIsJoinedTwiceIsCopiedOnce) {
    Builder builder;
    const ValueId once = builder.convolution(0, 8);
    const ValueId twice = builder.node(op::Concat{}, {once, once}, 16).output;
    const Program program = builder.lowered(builder.convolution(twice, 8));
    EXPECT_EQ(count(program, OVERTAKE_OP_COPY), 1u);
}

TEST(Place, ASliceIsAViewWhereItBeginsAtABlockOfChannels) {
    Builder builder;
    const ValueId whole = builder.convolution(0, 24);
    const ValueId part = builder.slice(whole, 8, 11);
    const Program program = builder.lowered(builder.convolution(part, 8));
    EXPECT_EQ(program.steps.size(), 2u);
    EXPECT_EQ(program.segments.at(0).places.at(part).offset,
              program.segments.at(0).places.at(whole).offset + 8);
    EXPECT_EQ(program.segments.at(0).places.at(part).pixel_stride, 24u);
}

TEST(Place, ASliceAmidABlockOrOutOfTheDeviceIsCopied) {
    Builder amid;
    const ValueId part = amid.slice(amid.convolution(0, 24), 3, 11);
    EXPECT_EQ(count(amid.lowered(amid.convolution(part, 8)), OVERTAKE_OP_COPY), 1u);
    Builder output;
    EXPECT_EQ(
        count(output.lowered(output.slice(output.convolution(0, 24), 8, 8)), OVERTAKE_OP_COPY), 1u);
}

TEST(Place, AnInputIsNotMovedIntoAConcatButCopied) {
    Builder builder;
    const ValueId made = builder.convolution(0, 8);
    const ValueId both = builder.node(op::Concat{}, {0, made}, 16).output;
    const Program program = builder.lowered(builder.convolution(both, 8));
    EXPECT_EQ(count(program, OVERTAKE_OP_COPY), 1u);
}

TEST(Concat, WhatOthersReadTooIsRequantisedAndWhatNoOtherNodeReadsIsMadeRight) {
    Builder builder;
    const ValueId own = builder.convolution(0, 8), shared = builder.convolution(0, 8);
    const ValueId both = builder.node(op::Concat{}, {own, shared}, 16).output;
    builder.graph.outputs = {both, builder.convolution(shared, 8)};
    std::vector<Quantisation> quantisations(builder.graph.values.size(), {1.0f / 128, 0});
    quantisations[both] = {5.0f / 256, -26};
    align_concats(builder.graph, quantisations);
    EXPECT_EQ(quantisations[own], quantisations[both]);
    EXPECT_EQ(quantisations[shared], (Quantisation{1.0f / 128, 0}));
    std::size_t requantised = 0;
    for (const Node& node : builder.graph.nodes)
        requantised += node.is<op::Activation>() && node.inputs[0] == shared;
    EXPECT_EQ(requantised, 1u);
    const QuantisedGraph quantised = quantise(builder.graph, quantisations);
    for (const Node& node : builder.graph.nodes)
        for (ValueId input : node.inputs)
            if (node.is<op::Concat>()) {
                EXPECT_EQ(quantised.values[input].scale, quantised.values[both].scale);
                EXPECT_EQ(quantised.values[input].zero_point, quantised.values[both].zero_point);
            }
}
