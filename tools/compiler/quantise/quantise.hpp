// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/quantisation.hpp"
#include "compiler/quantise/calibrate.hpp"

namespace overtake::compiler {

/// A positive real number as multiplier / 2^shift, as the instruction set wants it.
struct FixedScale {
    std::uint32_t multiplier;
    std::uint32_t shift;
};

/// The float32 nearest to `real` exactly, but for reals below 2^-38, which lose digits.
/// Throws CompileError for those not below 2^23.
FixedScale fixed_scale(double real);

/// The data that an instruction needs beyond the node.
struct QuantisedNode {
    std::vector<std::int8_t> weights; // in the order of Node::weights
    std::vector<std::int32_t> bias;   // one per output channel
    // One per output channel; average_pool: per count from 1; multiply: one; activation: one where
    // it only changes the scale.
    std::vector<FixedScale> requantise;
    std::array<FixedScale, 2> add_scales; // of the inputs of add and its like, with one shift
    std::vector<std::uint8_t> table;      // activation: elements of the output, by the bits of q
    int clamp_min = -128;
    int clamp_max = 127;
};

struct QuantisedGraph {
    std::vector<Quantisation> values; // by ValueId
    std::vector<QuantisedNode> nodes;
};

/// The quantisation of each value, by ValueId: what the graph gives, otherwise over the value's
/// range, asymmetric in 8 bits and symmetric in 16.  Zero is always exact.
std::vector<Quantisation> choose_quantisations(const Graph& graph,
                                               const std::vector<Range>& ranges);

/// Whether the weights are whole multiples of the scales that the model gives, as 8 bits hold them,
/// and no input of that scale can make an accumulator overflow; a single weight for each output
/// always is.
bool has_exact_weights(const op::Convolution& convolution, float input_scale);

/// Mean of each channel, by ValueId; empty where none is known.
using ChannelMeans = std::vector<std::vector<double>>;

/// Per-tensor activations as `values` says, by ValueId; per-channel symmetric weights, with the
/// scales that the model gives where its weights are multiples of them.  Accumulators cannot
/// overflow, whatever the input.  With `means` (of the float values) each bias makes up for the
/// shift that rounding the weights gives the mean of a channel; weights on given scales are exact
/// and their bias stays.  Throws CompileError.
QuantisedGraph quantise(const Graph& graph, std::vector<Quantisation> values,
                        const ChannelMeans& means = {});

} // namespace overtake::compiler
