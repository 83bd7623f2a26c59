// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/quantisation.hpp"

namespace overtake::compiler {

/// Gives every input of a concat the quantisation of its output, so that concatenation only moves
/// elements.  An input that nothing else reads gets the output's quantisation, unless the model
/// gives it one or it has another number of bits.  Before any other input an activation is inserted
/// that requantises it.  `quantisations` is by ValueId and grows with the values.  Values that
/// nodes only move get the quantisation of the values they are moved from.
void align_concats(Graph& graph, std::vector<Quantisation>& quantisations);

} // namespace overtake::compiler
