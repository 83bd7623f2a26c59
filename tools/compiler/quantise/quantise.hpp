// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/quantisation.hpp"
#include "compiler/quantise/calibrate.hpp"

namespace overtake::compiler {

/// A positive real number as multiplier / 2^shift, the form of the instruction set.
struct FixedScale {
    std::uint32_t multiplier;
    std::uint32_t shift;
};

/// Returns the float32 nearest to `real`, exactly, except for reals below 2^-38, which lose digits.
/// Throws CompileError for reals of 2^23 or more.
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

/// Returns the quantisation of each value, by ValueId.  It is the one that the graph gives, or else
/// one over the value's range, asymmetric in 8 bits and symmetric in 16.  Zero is always exact.
std::vector<Quantisation> choose_quantisations(const Graph& graph,
                                               const std::vector<Range>& ranges);

/// Whether the weights are whole multiples, which 8 bits hold, of the scales that the model gives,
/// and no input of that scale can make an accumulator overflow.  A single weight for each output
/// always is exact.
bool has_exact_weights(const op::Convolution& convolution, float input_scale);

/// The mean of each channel, by ValueId; empty for a value without known means.
using ChannelMeans = std::vector<std::vector<double>>;

/// Quantises activations per tensor by `values`, which are by ValueId.  Quantises weights per
/// channel, symmetrically; uses the scales that the model gives if the weights are multiples of
/// them.  Accumulators cannot overflow, whatever the input.  With `means` (of the float values),
/// each bias makes up for the shift of a channel's mean by rounded weights; weights on given scales
/// are exact, so their bias stays.  Throws CompileError.
QuantisedGraph quantise(const Graph& graph, std::vector<Quantisation> values,
                        const ChannelMeans& means = {});

} // namespace overtake::compiler
