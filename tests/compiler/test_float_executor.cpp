// SPDX-License-Identifier: MIT
#include "compiler/float/executor.hpp"

#include <gtest/gtest.h>

#include "compiler/float/onednn.hpp"

using namespace overtake::compiler;

namespace {

/// One convolution of 1x1x2x2 by a 1x3 kernel, stride 2, two columns of padding on the left: the
/// one output pixel sees input (0, 0) with the last of the three weights.
Graph narrow_convolution() {
    Graph graph;
    graph.values = {{"x", {1, 1, 2, 2}, 1, 2, 2}, {"y", {1, 1, 1, 1}, 1, 1, 1}};
    Node node;
    node.name = "narrow";
    node.inputs = {0};
    node.output = 1;
    op::Convolution convolution;
    convolution.weights = {0.5f, -0.75f, 0.25f};
    convolution.bias = {0.125f};
    convolution.window.kernel_width = 3;
    convolution.window.stride_height = convolution.window.stride_width = 2;
    convolution.window.pad_left = 2;
    node.operation = convolution;
    graph.nodes = {node};
    graph.inputs = {0};
    graph.outputs = {1};
    return graph;
}

} // namespace

// oneDNN 3.7 computes this one wrongly with AVX-512.
TEST(FloatExecutor, AConvolutionMostlyOverPaddingIsRight) {
    const Graph graph = narrow_convolution();
    FloatExecutor executor(graph);
    const FloatValues& values = executor.run({{2, 3, 5, 7}});
    EXPECT_FLOAT_EQ(values[1][0], 2 * 0.25f + 0.125f);
}

TEST(FloatExecutor, OneDnnIsKeptToAvx2) {
    const Graph graph = narrow_convolution();
    FloatExecutor executor(graph);
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    EXPECT_TRUE(isa == dnnl::cpu_isa::sse41 || isa == dnnl::cpu_isa::avx ||
                isa == dnnl::cpu_isa::avx2)
        << static_cast<int>(isa);
}
