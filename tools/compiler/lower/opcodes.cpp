// SPDX-License-Identifier: MIT
#include "compiler/lower/opcodes.hpp"

#include <variant>

#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

static_assert(OVERTAKE_OP_COUNT <= 64, "a bit for each");

template <typename... Opcodes>
std::uint64_t bits(Opcodes... opcodes) {
    return ((std::uint64_t{1} << opcodes) | ...);
}

std::uint64_t of_convolution(const op::Convolution& convolution) {
    switch (convolution.kind) {
    case op::Convolution::Kind::depthwise:
        return bits(OVERTAKE_OP_DEPTHWISE);
    case op::Convolution::Kind::transposed:
        return bits(OVERTAKE_OP_TRANSPOSED_CONV);
    case op::Convolution::Kind::forward:
        break;
    }
    return bits(OVERTAKE_OP_CONV);
}

std::uint64_t of_pair(const op::Pair& pair) {
    switch (pair.kind) {
    case op::Pair::Kind::subtract:
        return bits(OVERTAKE_OP_SUB);
    case op::Pair::Kind::multiply:
        return bits(OVERTAKE_OP_MUL);
    case op::Pair::Kind::maximum:
        return bits(OVERTAKE_OP_MAX);
    case op::Pair::Kind::minimum:
        return bits(OVERTAKE_OP_MIN);
    case op::Pair::Kind::add:
        break;
    }
    return bits(OVERTAKE_OP_ADD);
}

std::uint64_t of_reduce(const op::Reduce& reduce) {
    switch (reduce.kind) {
    case op::Reduce::Kind::maximum:
        return bits(OVERTAKE_OP_REDUCE_MAX);
    case op::Reduce::Kind::minimum:
        return bits(OVERTAKE_OP_REDUCE_MIN);
    default:
        return bits(OVERTAKE_OP_REDUCE_SUM);
    }
}

} // namespace

// Returns the node's opcodes.  ADD fills: PAD becomes ADD for rows that are only padding, and for
// padded channels.
std::uint64_t opcodes_of(const Graph& graph, const Node& node) {
    const Value* input = node.inputs.empty() ? nullptr : &graph.values[node.inputs[0]];
    return std::visit(
        Overloaded{
            [](const op::Convolution& convolution) { return of_convolution(convolution); },
            [](const op::Pair& pair) { return of_pair(pair); },
            [](const op::Pool& pool) {
                return pool.kind == op::Pool::Kind::maximum ? bits(OVERTAKE_OP_MAX_POOL)
                                                            : bits(OVERTAKE_OP_AVERAGE_POOL);
            },
            [](const op::Activation&) { return bits(OVERTAKE_OP_TABLE); },
            [&](const op::Copy&) {
                return input && input->user_type == UserType::nv12 ? bits(OVERTAKE_OP_NV12)
                                                                   : bits(OVERTAKE_OP_COPY);
            },
            [](const op::Resize& resize) {
                return resize.kind == op::Resize::Kind::nearest ? bits(OVERTAKE_OP_RESIZE_NEAREST)
                                                                : bits(OVERTAKE_OP_RESIZE_BILINEAR);
            },
            [](const op::MatrixProduct&) { return bits(OVERTAKE_OP_MATMUL); },
            [](const op::Permute&) { return bits(OVERTAKE_OP_PERMUTE); },
            [&](const op::Pad&) {
                return input && input->channels != graph.values[node.output].channels
                           ? bits(OVERTAKE_OP_ADD, OVERTAKE_OP_COPY)
                           : bits(OVERTAKE_OP_PAD, OVERTAKE_OP_ADD);
            },
            [](const op::DepthToSpace&) { return bits(OVERTAKE_OP_DEPTH_TO_SPACE); },
            [](const op::SpaceToDepth&) { return bits(OVERTAKE_OP_SPACE_TO_DEPTH); },
            [](const op::Reduce& reduce) { return of_reduce(reduce); },
            [](const op::Broadcast&) { return bits(OVERTAKE_OP_ADD); },
            [](const op::Cpu&) { return std::uint64_t{0}; },
            [](const auto&) { return bits(OVERTAKE_OP_COPY); }, // Concat, Slice, Reshape
        },
        node.operation);
}

} // namespace overtake::compiler
