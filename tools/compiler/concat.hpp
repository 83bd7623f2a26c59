// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "calibrate.hpp"
#include "graph.hpp"

namespace overtake::compiler {

/// Makes every input of a concat mean the same as its output, so that concatenating only moves
/// elements.  An input that nothing else reads is given the output's range; before any other one an
/// activation is inserted that requantises it.  `ranges` is by ValueId and grows with the values.
/// Values that nodes only move get the range of what they are moved from.
void align_concats(Graph& graph, std::vector<Range>& ranges);

} // namespace overtake::compiler
