// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/quantisation.hpp"

namespace overtake::compiler {

/// Makes every input of a concat mean the same as its output, so that concatenating only moves
/// elements.  An input that nothing else reads gets the output's quantisation, unless the model
/// gives it one; before any other one an activation is inserted that requantises it.
/// `quantisations` is by ValueId and grows with the values.  Values that nodes only move get the
/// quantisation of what they are moved from.
void align_concats(Graph& graph, std::vector<Quantisation>& quantisations);

} // namespace overtake::compiler
