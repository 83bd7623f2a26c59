// SPDX-License-Identifier: MIT
//
// Outputs by which a program decides.  In some it looks for the place of the greatest number: the
// class of a picture, or of each of its pixels.  Others have few chances, and it looks whether each
// is above 1/2.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// The decisions of such an output, from the elements [outer][choices][inner] of a tensor: one for
/// each pair of outer and inner.  With one choice, each element is a decision for itself: whether
/// it is above 1/2.
struct Decision {
    std::size_t output; ///< position among the outputs
    ValueId value;      ///< the tensor: the output, or the one that the output is a view of
    std::size_t outer, choices, inner;
};

/// Reads OUTPUT or OUTPUT=AXIS for each; names may hold '='.  Without AXIS, the axis is 1 if the
/// output has two or four dimensions, else the last one.  Outputs that no argument names are
/// decisions, too, if Softmax or LogSoftmax makes them, along the operator's axis, or if Sigmoid
/// makes them and they have at most 16 elements for a sample; their elements may be in another
/// order or shape.  Throws CompileError naming --decisions.
std::vector<Decision> read_decisions(const std::vector<std::string>& arguments, const Graph& graph);

/// Returns the outputs of one vector for each image that a fully connected layer makes, a
/// convolution or a matrix product, and that are not among `known`.  A classifier without Softmax
/// has such an output, but an embedding and coordinates are such outputs, too.
std::vector<Decision> possible_logits(const Graph& graph, const std::vector<Decision>& known);

} // namespace overtake::compiler
