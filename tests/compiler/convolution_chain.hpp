// SPDX-License-Identifier: MIT
//
// A network for tests that need an amount of work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "compiler/lower/lower.hpp"

namespace overtake::test {

/// A chain of 3x3 convolutions that keep their shape.
inline compiler::Graph chain(std::uint32_t size, std::uint32_t channels, std::size_t length) {
    using namespace compiler;
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

} // namespace overtake::test
